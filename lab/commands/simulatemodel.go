package commands

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// modelPods is the number of pods that each simulated scheduler (see showModel) places. All of them
// arrive at the same time.
const modelPods = 100

// modelled is one line of the output of "numalet simulate --virtual-clock". It describes a
// scheduler, and when this scheduler placed each pod.
type modelled struct {
	Scheduler     string  `json:"scheduler"`
	Proposers     int     `json:"proposers"` // number of proposers (see showModel), which look for nodes concurrently; 1 for a single scheduler
	Pods          int     `json:"pods"`
	ProposeMillis int64   `json:"proposeMillis"`
	CommitMillis  int64   `json:"commitMillis"` // time in which the committer assigns a node to a pod; 0 for a single scheduler, which has no committer
	EndMillis     int64   `json:"endMillis"`
	PodMillis     []int64 `json:"podMillis"` // when each pod was placed, in ascending order
}

// showModel runs a model of two-tier scheduling with the controller's scheduling engine, and prints
// the results. In the first tier, proposers look for nodes concurrently. The second tier is one
// committer, which assigns the nodes.
func showModel(out io.Writer, f command.Format) error {
	lines := []modelled{
		{Scheduler: "single", Proposers: 1, ProposeMillis: 200},
		{Scheduler: "two tiers", Proposers: 100, ProposeMillis: 200, CommitMillis: 50},
		{Scheduler: "two tiers, no conflict", Proposers: 100, ProposeMillis: 200, CommitMillis: 5},
	}
	for i := range lines {
		if err := lines[i].run(); err != nil {
			return err
		}
	}
	if f == command.JSON {
		return command.WriteJSON(out, lines)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "scheduler\tfirst tier\tpods\tpre-schedule\tcommit\tfirst ends\tlast ends")
	for _, m := range lines {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d ms\t%d ms\t%d ms\t%d ms\n",
			m.Scheduler, m.Proposers, m.Pods, m.ProposeMillis, m.CommitMillis, m.PodMillis[0], m.EndMillis)
	}
	return table.Flush()
}

// run schedules the pods of the model on a cluster with room for all of them, and records when each
// was placed.
func (m *modelled) run() error {
	space, err := filter.ParseSpace("cpu")
	if err != nil {
		return err
	}
	c, err := nodestate.New(filter.Profile{Space: space})
	if err != nil {
		return err
	}
	for i := range 10 {
		c.SetNode(&sched.Node{Name: fmt.Sprint("node", i), Allocatable: sched.Amounts{CPU: 1000 * modelPods, Pods: modelPods}})
	}
	var pods []*sched.Pod
	for i := range modelPods {
		pods = append(pods, &sched.Pod{UID: fmt.Sprint(i), Requests: sched.Amounts{CPU: 1000, Pods: 1}})
	}
	result := virtual.Run(c, pods, virtual.Model{
		Proposers: m.Proposers,
		Propose:   time.Duration(m.ProposeMillis) * time.Millisecond,
		Commit:    time.Duration(m.CommitMillis) * time.Millisecond,
	})
	m.Pods, m.EndMillis = len(result.Placed), result.End().Milliseconds()
	for _, p := range result.Placed {
		m.PodMillis = append(m.PodMillis, p.At.Milliseconds())
	}
	return nil
}
