package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// TestScenarios runs the scripts testdata/*.txt, which use these commands:
//
//	node node1 cpu=4             adds or changes a node
//	gone node1                   removes the node
//	take node1 cpu=2 [times=3]   assigns another pod with 2 CPUs to the node, or 3 such pods
//	list p cpu=2 node3 node1     makes the list of pod p from the newest records of these nodes
//	propose p cpu=2              makes the list of pod p with a proposer
//	across p                     makes p's fit depend on other nodes
//	reserve p node1 cpu=2        reserves 2 CPUs of the node for p
//	gang g need=3 cpu=2 n=5      defines a gang of pods g-1 to g-5, of which 3 must start together
//	plan g                       plans nodes for gang g with a proposer, and prints them
//	reserve g node1 cpu=2        reserves 2 CPUs of the node for gang g
//	commit p                     commits the list of p
//	unbind p                     undoes the decision for p
//	show                         prints the nodes and the committer's counters
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(t *testing.T, out *scenario.Answer) scenario.Commands {
		return newScene(t, out).commands()
	})
}

// scene has the state of a cluster, its committer, and the lists and decisions
// that the commands of the scenario have made.
type scene struct {
	state     *nodestate.State
	committer *pipeline.Committer
	lists     map[string]sched.List
	bound     map[string]sched.Decision
	others    int
}

func newScene(t *testing.T, out *scenario.Answer) *scene {
	s := &scene{lists: map[string]sched.List{}, bound: map[string]sched.Decision{}}
	s.state = nodestatetest.New(t, "cpu", filter.Profile{Policy: distbucket.FirstFit})
	s.committer = pipeline.NewCommitter(s.state, nil, pipeline.Effects{
		Bind: func(decision sched.Decision) {
			s.bound[decision.Pod.Name] = decision
			out.Line("%s goes to %s", decision.Pod, decision.At.Node)
		},
		Requeue:           func(pod *sched.Pod, _ sched.Reason) { out.Line("%s is to be tried again", pod) },
		MarkUnschedulable: func(pod *sched.Pod, _ uint64) { out.Line("%s waits until something is free", pod) },
	})
	return s
}

// commands returns the functions that execute the commands of a scenario (see
// TestScenarios).
func (s *scene) commands() scenario.Commands {
	return scenario.Commands{
		"node": s.node, "gone": s.gone, "take": s.take, "list": s.list, "propose": s.propose, "across": s.across, "gang": s.gang, "plan": s.plan,
		"reserve": s.reserve, "commit": s.commit, "unbind": s.unbind, "show": s.show,
	}
}

func (s *scene) node(c *scenario.Command) {
	s.state.SetNode(&sched.Node{Name: c.Arg(0), Allocatable: sched.Amounts{CPU: cpus(c), Pods: 110}})
}

func (s *scene) gone(c *scenario.Command) { s.state.RemoveNode(c.Arg(0)) }

func (s *scene) take(c *scenario.Command) {
	for range c.IntValue("times", 1) {
		s.others++
		s.state.Adopt(nodestate.Assignment{UID: fmt.Sprint("other-", s.others), Node: c.Arg(0), Holding: sched.Holding{Amounts: sched.Amounts{CPU: cpus(c), Pods: 1}}})
	}
}

func (s *scene) list(c *scenario.Command) {
	list := sched.List{Pod: pod(c)}
	list.FreedSeq = s.state.View().FreedSeq
	for _, node := range c.Args()[1:] {
		record := s.state.Record(node)
		list.Candidates = append(list.Candidates, sched.Candidate{Node: record})
		c.Line("%s version %d", node, record.Version)
	}
	s.lists[c.Arg(0)] = list
}

func (s *scene) propose(c *scenario.Command) {
	p := pipeline.NewProposer(s.state.View, pipeline.ProposerOptions{})
	list := p.Propose(pod(c))
	for _, candidate := range list.Candidates {
		c.Line("%s version %d", candidate.Node.Name, candidate.Node.Version)
	}
	if len(list.Candidates) == 0 {
		_, why := p.Explain(list.Pod)
		c.Line("%s", why)
	}
	s.lists[c.Arg(0)] = list
}

func (s *scene) reserve(c *scenario.Command) {
	if !s.state.Reserve(c.Arg(0), map[string]sched.Holding{c.Arg(1): {Amounts: sched.Amounts{CPU: cpus(c), Pods: 1}}}) {
		c.Line("refused")
	}
}

func (s *scene) gang(c *scenario.Command) {
	name := c.Arg(0)
	gang := &sched.Gang{ID: name, Need: c.IntValue("need", 1)}
	for i := range c.IntValue("n", 1) {
		member := pod(c)
		member.UID, member.Gang = fmt.Sprint(name, "-", i+1), gang
		member.Name = member.UID
		gang.Members = append(gang.Members, member)
	}
	first := *gang.Members[0]
	first.Name = name
	s.lists[name] = sched.List{Pod: &first}
}

func (s *scene) plan(c *scenario.Command) {
	list := pipeline.NewProposer(s.state.View, pipeline.ProposerOptions{}).Propose(s.lists[c.Arg(0)].Pod)
	for _, planned := range list.Planned {
		c.Line("%s: %s version %d", planned.Pod, planned.Node.Name, planned.Node.Version)
	}
	s.lists[c.Arg(0)] = list
}

func (s *scene) across(c *scenario.Command) { s.lists[c.Arg(0)].Pod.Across = true }

func (s *scene) commit(c *scenario.Command) { s.committer.Commit(s.lists[c.Arg(0)]) }

func (s *scene) unbind(c *scenario.Command) { s.committer.Undo(s.bound[c.Arg(0)]) }

func (s *scene) show(c *scenario.Command) {
	for n := range s.state.View().Nodes() {
		c.Line("%s version %d: %d of %d CPUs free", n.Name, n.Version, n.Free.CPU/1000, n.Allocatable.CPU/1000)
	}
	n := s.committer.Counters()
	c.Line("commits %d (by place in the list %v), version hits %d, re-checks passed %d, failed %d, requeues %d, unschedulable %d, undone %d",
		n.Commits, n.Index[:4], n.Hits, n.Passed, n.Failed, n.Requeues, n.Unschedulable, n.Undone)
}

// pod returns the pod that the arguments of a command describe.
func pod(c *scenario.Command) *sched.Pod {
	return &sched.Pod{UID: c.Arg(0), Name: c.Arg(0), Requests: sched.Amounts{CPU: cpus(c), Pods: 1}}
}

func cpus(c *scenario.Command) sched.MilliCPU { return sched.MilliCPU(c.IntValue("cpu", 0)) * 1000 }
