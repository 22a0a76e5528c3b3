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

// TestScenarios runs the commands in testdata/*.txt and compares the output. The commands are:
//
//	node n1 cpu=8                         adds or changes a node; options: gpus=4, model=T4 (of its GPUs),
//	                                      parts=gpu.shared:16,mig-1g.10gb:7 (resources of parts of GPUs)
//	topology n1 numa=0:0-3,1:4-7          adds or changes a NodeTopology; options: reserved=CPUS, ready=false,
//	                                      full-cores=2 (threads of each core), holds=UID:CPUS,UID@NAME:CPUS (CPUs that pods hold),
//	                                      gpus=T4,T4 (models of the GPUs), slices=H100:1g.10gb (MIG slices),
//	                                      gpu-holders=UID:ID+ID,UID@NAME:ID (GPUs that pods hold)
//	agent n1 away | agent n1 alive        the node's agent stops renewing its Lease | renews it again
//	pod a cpu=2 policy=single             adds or changes a pod; options: node=n1 (it is bound),
//	                                      placement=0:2,1:1 (CPUs by NUMA node) or placement=bad (not valid), gpu-placement=ID+ID (GPUs),
//	                                      scheduler=NAME, phase=Running, gated= (it has a scheduling gate), deleting= (it is being deleted),
//	                                      static=UID (it is a mirror pod; the kubelet uses this UID),
//	                                      for an in-place resize to the CPUs in cpu=: allocated=2 (CPUs that the kubelet has allocated),
//	                                      actual=2 (CPUs of the running container), resize=Deferred (why the resize is pending or in progress),
//	                                      gpus=2, parts=gpu.shared:1, gpu-type=T4|V100, gpu-form=virtual (annotations),
//	                                      tenant=ann, since=SECOND (when it was bound), gang=train, least=4 (at least 4 pods must start together)
//	gone node|topology|pod NAME           deletes the object
//	show                                  prints the state of the nodes
//
// The output has the mirror's calls of the queue, the nodes with freed resources, and what
// tenants are charged for.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func(t *testing.T, out *scenario.Answer) scenario.Commands { return newSceneSaying(t, out).commands() })
}

// scene is a state of the nodes, and a mirror that updates this state.
type scene struct {
	state  *nodestate.State
	mirror *Mirror
	said   *scenario.Answer
}

// observe writes the charges of tenants, and bound pods of gangs, to the output.
func (s *scene) observe(event nodestate.Event) {
	switch event.Kind {
	case nodestate.Bound:
		if event.Now.Gang != "" {
			s.say("bound: %s of gang %s", event.UID, event.Now.Gang)
		}
		if !event.Now.SameCharges(event.Was) {
			s.charge(event.Now, event.Node)
		}
	case nodestate.NodeChanged:
		for a := range event.Entry.Assignments() {
			if event.Node != nil && a.HasGPUs() {
				s.charge(a, event.Node)
			}
		}
	case nodestate.Released:
		s.say("charged no more: %s %s", event.UID, map[bool]string{false: "has ended", true: "is gone"}[event.Gone])
	}
}

func (s *scene) charge(assignment *nodestate.Assignment, node *sched.Node) {
	since, charges := "now", assignment.Charges(node)
	if !assignment.Since.IsZero() {
		since = fmt.Sprint("second ", assignment.Since.Unix())
	}
	s.say("charged: %s for %s since %s: %v", assignment.Tenant, assignment.UID, since, charges)
	for _, c := range group.QuotaCharges(charges, assignment.Group) {
		if c.Group != "" {
			s.say("held: %s of group %s: %d of %s by %s", assignment.UID, c.Group, c.Milli, c.Type, assignment.Tenant)
		}
	}
}

func (s *scene) say(format string, args ...any) { s.said.Line(format, args...) }

func newScene(t *testing.T) *scene { return newSceneSaying(t, &scenario.Answer{}) }

// newSceneSaying returns a scene that writes its output to the Answer `out`.
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
		Refused:  func(pod *sched.Pod, err error) { say("refused: %s: %v", pod, err) },
		Odd:      func(err error) { say("odd: %v", err) },
		Panicked: func(object string, cause any) { panic(fmt.Sprint(object, ": ", cause)) },
	})
	return s
}

// commands returns the commands of the scenario files.
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

// show returns the free resources of all nodes as a text.
func (s *scene) show() string {
	var b strings.Builder
	for n := range s.state.View().Nodes() {
		b.WriteString(picture(n) + "\n")
	}
	return cmp.Or(b.String(), "no node\n")
}

func picture(node *sched.Node) string {
	text := fmt.Sprintf("%s: free %dm of %dm CPU, %d of %d pods", node.Name, node.Free.CPU, node.Allocatable.CPU, node.Free.Pods, node.Allocatable.Pods)
	for _, on := range node.NUMA {
		text += fmt.Sprintf("; NUMA %d %d of %d", on.ID, on.FreeCPUs, on.CPUs)
	}
	for name, free := range node.Free.Extended.All() {
		text += fmt.Sprintf("; %s %d of %d", name, free, node.Allocatable.Extended.Of(name))
	}
	for _, gpu := range node.GPUs {
		if gpu.ID != "" {
			text += fmt.Sprintf("; GPU %s %d free", gpu.ID, gpu.Free)
		}
	}
	if node.CoreWidth > 1 || node.Spare > 0 {
		text += fmt.Sprintf("; core width %d, spare %d", node.CoreWidth, node.Spare)
	}
	return text
}
