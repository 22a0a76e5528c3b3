package mirror

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// TestScenarios walks through testdata/*.txt:
//
//	node n1 cpu=8                         the node is so now; gpus=4 cards, of model=T4,
//	                                      parts=gpu.shared:16,mig-1g.10gb:7 of cards
//	topology n1 numa=0:0-3,1:4-7          its agent says so now; reserved=LIST, ready=false,
//	                                      full-cores=2 (threads a core), holds=UID:LIST,UID:LIST,
//	                                      cards=T4,T4 their models, slices=H100:1g.10gb
//	pod a cpu=2 policy=single             the pod is so now; node=n1 where it is bound, and
//	                                      placement=0:2,1:1 | bad, scheduler=, phase=, gated=, deleting=, static=UID,
//	                                      gpus=2, parts=, gpu-type=T4|V100, gpu-form=, tenant=ann, since=SECOND,
//	                                      gang=train, least=4 (of it start together)
//	gone node|topology|pod NAME           there is none any more
//	show                                  the centre
//
// The answers are what the mirror tells the queue, and who is charged for what.
func TestScenarios(t *testing.T) {
	scenario.Walk(t, func() scenario.Scene { return newScene(t) })
}

// scene is a centre and the mirror that fills it.
type scene struct {
	center *nodestate.Center
	mirror *Mirror
	told   strings.Builder
}

// blind are filters that see no difference between nodes.
type blind struct{}

func (blind) SetNode(*corev1.Node) bool { return false }
func (blind) RemoveNode(string)         {}
func (blind) SetPod(*corev1.Pod) error  { return nil }
func (blind) RemovePod(*corev1.Pod)     {}

// tasks say who is charged for what.
type tasks func(format string, args ...any)

func (say tasks) Start(t fairshare.Task) {
	since := "now"
	if !t.Since.IsZero() {
		since = fmt.Sprint("second ", t.Since.Unix())
	}
	say("charged: %s for %s since %s: %v", t.Tenant, t.UID, since, t.Holds)
}

func (say tasks) End(uid string)    { say("charged no more: %s has ended", uid) }
func (say tasks) Forget(uid string) { say("charged no more: %s is gone", uid) }

// quotas say who holds GPUs of which group.
type quotas func(format string, args ...any)

func (say quotas) Restore(uid, tenant string, charges []group.Charge) {
	for _, c := range charges {
		if c.Group != "" {
			say("held: %s of group %s: %d of %s by %s", uid, c.Group, c.Milli, c.Type, tenant)
		}
	}
}

func (say quotas) End(string) {}

func newScene(t *testing.T) *scene {
	s := &scene{}
	s.center = nodestatetest.New(t, "cpu,numa-total", nodestate.Profile{})
	say := func(format string, args ...any) { fmt.Fprintf(&s.told, format+"\n", args...) }
	s.mirror = NewMirror(Env{
		Center: s.center, Filters: blind{}, Tasks: tasks(say), Quotas: quotas(say), GPUs: "nvidia.com/gpu", Complete: func(*sched.Pod, *corev1.Pod) error { return nil },
		Ours: func(name string) bool { return name == "ours" },
		Pending: func(e queue.Entry) {
			say("pending: %s of %s for %s, priority %d, %dm CPU, %d exclusive containers", e.Pod, e.Tenant, e.Type, e.Priority, e.Pod.Requests.CPU, len(e.Pod.Exclusive))
			if g := e.Pod.Gang; g != nil {
				say("it starts with %d of gang %s", g.Need, g.ID)
			}
		},
		Bound: func(uid, gang string) {
			if gang != "" {
				say("bound: %s of gang %s", uid, gang)
			}
		},
		Settled: func(uid string) {},
		Refused: func(p *sched.Pod, err error) { say("refused: %s: %v", p, err) },
		Freed:   func(node string) { say("freed: %s", node) },
		Moved:   func() { say("moved") },
		Odd:     func(err error) { say("odd: %v", err) },
	})
	return s
}

// Run obeys one command.
func (s *scene) Run(command []string) string {
	s.told.Reset()
	args := options(command)
	switch command[0] {
	case "node":
		s.mirror.SetNode(nodeOf(command[1], args))
	case "topology":
		s.mirror.SetTopology(topologyOf(command[1], args))
	case "pod":
		s.mirror.SetPod(podOf(command[1], args))
	case "gone":
		s.gone(command[1], command[2], args)
	case "show":
		return s.show()
	default:
		return "no such command\n"
	}
	return s.told.String()
}

func (s *scene) gone(kind, name string, args map[string]string) {
	switch kind {
	case "node":
		s.mirror.RemoveNode(name)
	case "topology":
		s.mirror.RemoveTopology(name)
	case "pod":
		s.mirror.RemovePod(podOf(name, args))
	}
}

// show prints what is free on every node.
func (s *scene) show() string {
	var b strings.Builder
	for n := range s.center.View().Nodes() {
		b.WriteString(picture(n) + "\n")
	}
	if b.Len() == 0 {
		return "no node\n"
	}
	return b.String()
}

func picture(n *sched.Node) string {
	text := fmt.Sprintf("%s: free %dm of %dm CPU, %d of %d pods", n.Name, n.Free.CPU, n.Allocatable.CPU, n.Free.Pods, n.Allocatable.Pods)
	for _, on := range n.NUMA {
		text += fmt.Sprintf("; NUMA %d %d of %d", on.ID, on.FreeCPUs, on.CPUs)
	}
	for name, free := range n.Free.Extended.All() {
		text += fmt.Sprintf("; %s %d of %d", name, free, n.Allocatable.Extended.Of(name))
	}
	if n.CoreWidth > 1 || n.Spare > 0 {
		text += fmt.Sprintf("; core width %d, spare %d", n.CoreWidth, n.Spare)
	}
	return text
}
