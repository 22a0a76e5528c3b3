package mirror

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/numalet/numalet/internal/controller/filters"
	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// TestScenarios walks through testdata/*.txt:
//
//	node n1 cpu=8                         adds or changes a node; gpus=4 GPUs, of model=T4,
//	                                      parts=gpu.shared:16,mig-1g.10gb:7 of GPUs
//	topology n1 numa=0:0-3,1:4-7          adds or changes its NodeTopology; reserved=LIST, ready=false,
//	                                      full-cores=2 (threads a core), holds=UID:LIST,UID@NAME:LIST,
//	                                      gpus=T4,T4 their models, slices=H100:1g.10gb,
//	                                      gpu-holders=UID:ID+ID,UID@NAME:ID
//	pod a cpu=2 policy=single             adds or changes a pod; node=n1 if it is bound, and
//	                                      placement=0:2,1:1 | bad, gpu-placement=ID+ID, scheduler=, phase=, gated=, deleting=, static=UID,
//	                                      allocated=2 actual=2 resize=Deferred (cpu is what it is resized to),
//	                                      gpus=2, parts=, gpu-type=T4|V100, gpu-form=, tenant=ann, since=SECOND,
//	                                      gang=train, least=4 (pods start together)
//	gone node|topology|pod NAME           deletes the object
//	show                                  prints the state of the nodes
//
// The output is what the mirror passes to the queue, and what tenants are charged.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(t *testing.T, out *scenario.Answer) scenario.Commands { return newSceneSaying(t, out).commands() })
}

// scene is a state of the nodes and the mirror that fills it.
type scene struct {
	state  *nodestate.State
	mirror *Mirror
	said   *scenario.Answer
}

// observe prints charges, and bound pods of gangs.
func (s *scene) observe(e nodestate.Event) {
	switch e.Kind {
	case nodestate.Bound:
		if e.Now.Gang != "" {
			s.say("bound: %s of gang %s", e.UID, e.Now.Gang)
		}
		if !e.Now.SameCharges(e.Was) {
			s.charge(e.Now, e.Node)
		}
	case nodestate.NodeChanged:
		for a := range e.Entry.Assignments() {
			if e.Node != nil && a.HasGPUs() {
				s.charge(a, e.Node)
			}
		}
	case nodestate.Released:
		s.say("charged no more: %s %s", e.UID, map[bool]string{false: "has ended", true: "is gone"}[e.Gone])
	}
}

func (s *scene) charge(a *nodestate.Assignment, node *sched.Node) {
	since, charges := "now", a.Charges(node)
	if !a.Since.IsZero() {
		since = fmt.Sprint("second ", a.Since.Unix())
	}
	s.say("charged: %s for %s since %s: %v", a.Tenant, a.UID, since, charges)
	for _, c := range group.QuotaCharges(charges, a.Group) {
		if c.Group != "" {
			s.say("held: %s of group %s: %d of %s by %s", a.UID, c.Group, c.Milli, c.Type, a.Tenant)
		}
	}
}

func (s *scene) say(format string, args ...any) { s.said.Line(format, args...) }

func newScene(t *testing.T) *scene { return newSceneSaying(t, &scenario.Answer{}) }

// newSceneSaying returns a scene that writes to out what the mirror passes to the queue.
func newSceneSaying(t *testing.T, out *scenario.Answer) *scene {
	s := &scene{said: out}
	s.state = nodestatetest.New(t, "cpu,numa-total", filter.Profile{})
	s.state.Subscribe(s.observe)
	s.state.OnFreed(func(node *sched.Node) { s.say("freed: %s", node.Name) })
	say := s.say
	s.mirror = NewMirror(Env{
		State: s.state, Filters: filters.Reader{}, GPUs: "nvidia.com/gpu", Limit: func(*sched.Pod, map[string]string) error { return nil },
		Schedulers: []string{"ours"},
		Pending: func(e queue.Entry) {
			say("pending: %s of %s for %s, priority %d, %dm CPU, %d exclusive containers", e.Pod, e.Tenant, e.Type, e.Priority, e.Pod.Requests.CPU, len(e.Pod.Exclusive))
			if g := e.Pod.Gang; g != nil {
				say("it starts with %d of gang %s", g.Need, g.ID)
			}
		},
		Withdraw: func(string) {},
		Refused:  func(p *sched.Pod, err error) { say("refused: %s: %v", p, err) },
		Odd:      func(err error) { say("odd: %v", err) },
		Panicked: func(object string, cause any) { panic(fmt.Sprint(object, ": ", cause)) },
	})
	return s
}

// commands returns the commands of scenario files.
func (s *scene) commands() scenario.Commands {
	return scenario.Commands{
		"node":     func(c *scenario.Command) { s.mirror.SetNode(nodeOf(c.Arg(0), c.Words)) },
		"topology": func(c *scenario.Command) { s.mirror.SetTopology(topologyOf(c.Arg(0), c.Words)) },
		"pod":      func(c *scenario.Command) { s.mirror.SetPod(podOf(c.Arg(0), c.Words)) },
		"gone":     s.gone,
		"agent":    func(c *scenario.Command) { s.mirror.SetAlive(c.Arg(0), c.Arg(1) == "alive") },
		"show":     func(c *scenario.Command) { c.WriteString(s.show()) },
	}
}

func (s *scene) gone(c *scenario.Command) {
	switch name := c.Arg(1); c.Arg(0) {
	case "node":
		s.mirror.RemoveNode(name)
	case "topology":
		s.mirror.RemoveTopology(name)
	case "pod":
		s.mirror.RemovePod(podOf(name, c.Words))
	}
}

// show prints the free resources of every node.
func (s *scene) show() string {
	var b strings.Builder
	for n := range s.state.View().Nodes() {
		b.WriteString(picture(n) + "\n")
	}
	return cmp.Or(b.String(), "no node\n")
}

func picture(n *sched.Node) string {
	text := fmt.Sprintf("%s: free %dm of %dm CPU, %d of %d pods", n.Name, n.Free.CPU, n.Allocatable.CPU, n.Free.Pods, n.Allocatable.Pods)
	for _, on := range n.NUMA {
		text += fmt.Sprintf("; NUMA %d %d of %d", on.ID, on.FreeCPUs, on.CPUs)
	}
	for name, free := range n.Free.Extended.All() {
		text += fmt.Sprintf("; %s %d of %d", name, free, n.Allocatable.Extended.Of(name))
	}
	for _, gpu := range n.GPUs {
		if gpu.ID != "" {
			text += fmt.Sprintf("; GPU %s %d free", gpu.ID, gpu.Free)
		}
	}
	if n.CoreWidth > 1 || n.Spare > 0 {
		text += fmt.Sprintf("; core width %d, spare %d", n.CoreWidth, n.Spare)
	}
	return text
}
