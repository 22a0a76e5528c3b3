package fairness

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// TestScenarios runs the scenarios in testdata/*.txt. They consist of these commands:
//
//	nodes 4 8               adds four nodes of eight GPUs
//	sample 0.5 1h           lets users also send pods of half a GPU that run for an hour
//	users 5 2 32            sets five users, who keep 2 to 32 pods pending
//	share 24h score         simulates a day, and prints what each user got in its second half
//	starve 24h score [known] simulates a day, in the middle of which the sample pod with the most GPUs arrives; known: the scheduler knows when pods end
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(t *testing.T, _ *scenario.Answer) scenario.Commands { return newScene(t).commands() })
}

type scene struct {
	settings Settings
	nodes    []*sched.Node
	samples  []Sample
}

func newScene(t *testing.T) *scene {
	space, err := filter.ParseSpace("gpu-total,gpu-share,gpus,pods")
	if err != nil {
		t.Fatal(err)
	}
	return &scene{settings: Settings{Seed: 1, Constant: 6 * 3600, Profile: filter.Profile{Space: space, Policy: distbucket.BestFit, Candidates: 1}}}
}

// commands returns the commands that a scenario may contain.
func (s *scene) commands() scenario.Commands {
	return scenario.Commands{"nodes": s.add, "sample": s.sample, "users": s.users, "share": s.share, "starve": s.starve}
}

func (s *scene) add(c *scenario.Command) {
	for range c.Int(0) {
		node := &sched.Node{Name: fmt.Sprint("node", len(s.nodes)), Allocatable: sched.Amounts{Pods: 110}}
		for i := range c.Int(1) {
			node.GPUs = append(node.GPUs, sched.GPU{ID: strconv.Itoa(i), Type: "T4", Free: sched.WholeGPU})
		}
		s.nodes = append(s.nodes, node)
	}
}

func (s *scene) sample(c *scenario.Command) {
	gpus := c.Float(0)
	request := sched.GPURequest{Count: int(gpus), Milli: sched.WholeGPU}
	if gpus < 1 {
		request = sched.GPURequest{Count: 1, Milli: sched.MilliGPU(1000 * gpus)}
	}
	s.samples = append(s.samples, Sample{&sched.Pod{Requests: sched.Amounts{Pods: 1}, GPUs: request}, c.Duration(1)})
}

func (s *scene) users(c *scenario.Command) { s.settings.Users = Users(c.Int(0), c.Int(1), c.Int(2)) }

// order reads three settings of a trial from the arguments of a command. They say how long the
// trial runs, in which order its pods are scheduled, and whether the scheduler knows when pods will
// end.
func (s *scene) order(c *scenario.Command) {
	orders := map[string]virtual.Turns{"score": virtual.ByScore, "age": virtual.ByAge, "kube-scheduler": virtual.LikeKube}
	s.settings.For, s.settings.Turns, s.settings.EndsKnown = c.Duration(0), orders[c.Arg(1)], c.Has("known")
}

func (s *scene) share(c *scenario.Command) {
	s.order(c)
	o, err := Share(s.nodes, s.samples, s.settings)
	if err != nil {
		c.Error(err)
		return
	}
	c.Line("Jain's index of scores per weight %.4f; %.1f %% of the GPUs in use; waiting: median %s, p99 %s",
		o.Jain, 100*o.Allocated, minutes(o.All.Quantile(.5)), minutes(o.All.Quantile(.99)))
	c.Line("%d pods have begun, of which %d ask for several GPUs; %d wait at the end, of which %d do",
		o.Started.All, o.Started.Large, o.Waiting.All, o.Waiting.Large)
	for _, user := range o.Users {
		c.Line("%s, weight %g, appetite %2d: %4.1f GPUs, median %s, p99 %s",
			user.Name, user.Weight, user.Demand, user.GPUs, minutes(user.Waits.Quantile(.5)), minutes(user.Waits.Quantile(.99)))
	}
}

func (s *scene) starve(c *scenario.Command) {
	s.order(c)
	o, err := Starve(s.nodes, s.samples, s.settings)
	if err != nil {
		c.Error(err)
		return
	}
	if !o.Started {
		c.Line("%d GPUs: not begun after %s", o.Large.GPUs.Count, minutes(o.Waited))
		return
	}
	c.Line("%d GPUs: begun after %s; held back after %s, enough had ended after %s: %.2f times that",
		o.Large.GPUs.Count, minutes(o.Waited), minutes(o.Reserved), minutes(o.Free), o.Ratio())
	c.Line("small work had %.1f %% of what it has without the large, and %.1f %% until that had ended", 100*o.Small, 100*o.SmallAfter)
}

func minutes(d time.Duration) string { return fmt.Sprintf("%.1f min", d.Minutes()) }
