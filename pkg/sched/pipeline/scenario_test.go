package pipeline_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// TestScenarios walks through testdata/*.txt:
//
//	node node1 cpu=4             the node has so many CPUs; a node that is known changes
//	gone node1                   the node is removed
//	take node1 cpu=2 [times=3]   pods of others take them there, a change each
//	list p cpu=2 node3 node1     the first list of pod p: these nodes as they are now
//	propose p cpu=2              the first list of pod p, as the first tier makes it
//	across p                     p's fit depends on other nodes, too
//	reserve p node1 cpu=2        the node holds so much back for p
//	gang g need=3 cpu=2 n=5    the first list of a gang of pods g-1 to g-5, of which 3 have to start together
//	reserve g node1 cpu=2        the node holds so much back for gang g
//	commit p                     commit that list
//	unbind p                     the bind of p failed
//	show                         nodes, and what the committer counted
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func() scenario.Scene { return newScene(t) })
}

// scene is a centre, a committer, and what they were told.
type scene struct {
	center    *nodestate.Center
	committer *pipeline.Committer
	lists     map[string]sched.List
	bound     map[string]sched.Decision
	others    int
	answer    strings.Builder
}

func newScene(t *testing.T) *scene {
	s := &scene{lists: map[string]sched.List{}, bound: map[string]sched.Decision{}}
	s.center = nodestatetest.New(t, "cpu", nodestate.Profile{Policy: distbucket.FirstFit})
	s.committer = pipeline.NewCommitter(s.center, nil, pipeline.Effects{
		Bind: func(d sched.Decision) {
			s.bound[d.Pod.Name] = d
			fmt.Fprintf(&s.answer, "%s goes to %s\n", d.Pod, d.At.Node)
		},
		Widen: func(p *sched.Pod) sched.List {
			return pipeline.NewProposer(s.center.View, pipeline.ProposerOptions{}).Propose(p)
		},
		Requeue: func(p *sched.Pod) { fmt.Fprintf(&s.answer, "%s is to be tried again\n", p) },
		Park:    func(p *sched.Pod, _ uint64) { fmt.Fprintf(&s.answer, "%s waits until something is free\n", p) },
	})
	return s
}

// Run obeys one command.
func (s *scene) Run(command []string) string {
	commands := map[string]func(name string, args []string){
		"node": s.node, "gone": s.gone, "take": s.take, "list": s.list, "propose": s.propose, "across": s.across, "gang": s.gang,
		"reserve": s.reserve, "commit": s.commit, "unbind": s.unbind, "show": s.show,
	}
	s.answer.Reset()
	do, ok := commands[command[0]]
	if !ok {
		return "no such command\n"
	}
	do(strings.Join(command[1:min(2, len(command))], ""), command[min(2, len(command)):])
	return s.answer.String()
}

func (s *scene) node(name string, args []string) {
	s.center.SetNode(&sched.Node{Name: name, Allocatable: sched.Amounts{CPU: cpus(args), Pods: 110}})
}

func (s *scene) gone(name string, _ []string) { s.center.RemoveNode(name) }

func (s *scene) take(name string, args []string) {
	for range number(args, "times", 1) {
		s.others++
		s.center.Adopt(nodestate.Assignment{UID: fmt.Sprint("other-", s.others), Node: name, Holding: sched.Holding{Amounts: sched.Amounts{CPU: cpus(args), Pods: 1}}})
	}
}

func (s *scene) list(name string, args []string) {
	list := sched.List{Pod: &sched.Pod{UID: name, Name: name, Requests: sched.Amounts{CPU: cpus(args), Pods: 1}}}
	list.Gains = s.center.View().Gains
	for _, node := range args[1:] {
		record := s.center.Record(node)
		list.Candidates = append(list.Candidates, sched.Candidate{Node: record})
		fmt.Fprintf(&s.answer, "%s version %d\n", node, record.Version)
	}
	s.lists[name] = list
}

func (s *scene) propose(name string, args []string) {
	p := pipeline.NewProposer(s.center.View, pipeline.ProposerOptions{})
	list := p.Propose(&sched.Pod{UID: name, Name: name, Requests: sched.Amounts{CPU: cpus(args), Pods: 1}})
	for _, c := range list.Candidates {
		fmt.Fprintf(&s.answer, "%s version %d\n", c.Node.Name, c.Node.Version)
	}
	if len(list.Candidates) == 0 {
		_, why := p.Explain(list.Pod)
		fmt.Fprintln(&s.answer, why)
	}
	s.lists[name] = list
}

func (s *scene) reserve(name string, args []string) {
	if !s.center.Reserve(name, args[0], sched.Holding{Amounts: sched.Amounts{CPU: cpus(args), Pods: 1}}) {
		fmt.Fprintln(&s.answer, "refused")
	}
}

func (s *scene) gang(name string, args []string) {
	gang := &sched.Gang{ID: name, Need: number(args, "need", 1)}
	for i := range number(args, "n", 1) {
		member := fmt.Sprint(name, "-", i+1)
		gang.Members = append(gang.Members, &sched.Pod{UID: member, Name: member, Requests: sched.Amounts{CPU: cpus(args), Pods: 1}, Gang: gang})
	}
	first := *gang.Members[0]
	first.Name = name
	s.lists[name] = sched.List{Pod: &first, Gains: s.center.Gains()}
}

func (s *scene) across(name string, _ []string) { s.lists[name].Pod.Across = true }

func (s *scene) commit(name string, _ []string) { s.committer.Commit(s.lists[name]) }

func (s *scene) unbind(name string, _ []string) { s.committer.Undo(s.bound[name]) }

func (s *scene) show(string, []string) {
	for n := range s.center.View().Nodes() {
		fmt.Fprintf(&s.answer, "%s version %d: %d of %d CPUs free\n", n.Name, n.Version, n.Free.CPU/1000, n.Allocatable.CPU/1000)
	}
	c := s.committer.Counters()
	fmt.Fprintf(&s.answer, "commits %d (by place in the list %v), version hits %d, re-checks passed %d, failed %d, requeues %d, parked %d, undone %d\n",
		c.Commits, c.Index[:4], c.Hits, c.Passed, c.Failed, c.Requeues, c.Parked, c.Undone)
}

func cpus(args []string) sched.MilliCPU { return sched.MilliCPU(number(args, "cpu", 0)) * 1000 }

// number returns the value of a setting such as cpu=4.
func number(args []string, name string, otherwise int) int {
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			n, err := strconv.Atoi(value)
			if err != nil {
				panic(err)
			}
			return n
		}
	}
	return otherwise
}
