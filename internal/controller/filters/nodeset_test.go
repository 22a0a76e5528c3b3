package filters

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
)

// randomNode returns a node with random labels and taints.
func randomNode(r *rand.Rand, name string) *v1.Node {
	n := node(name).Unschedulable(r.IntN(6) == 0)
	if r.IntN(2) == 0 {
		n.Label("disk", []string{"ssd", "hdd"}[r.IntN(2)])
	}
	if r.IntN(3) == 0 {
		n.Label("zone", []string{"a", "b"}[r.IntN(2)])
	}
	if r.IntN(3) == 0 {
		n.Taints([]v1.Taint{{Key: "batch", Effect: v1.TaintEffectNoSchedule}})
	}
	return n.Obj()
}

// randomRuled returns a pod with a random node selector, node affinity and tolerations, which few
// nodes or none satisfy.
func randomRuled(r *rand.Rand) *v1.Pod {
	p := pod("asks")
	if r.IntN(2) == 0 {
		p.NodeSelector(map[string]string{"disk": []string{"ssd", "none"}[r.IntN(2)]})
	}
	switch r.IntN(4) {
	case 0:
		p.NodeAffinityIn("zone", []string{"a"}, st.NodeSelectorTypeMatchExpressions)
	case 1:
		p.NodeAffinityNotIn("disk", []string{"ssd"})
	case 2:
		p.NodeAffinityIn(metav1.ObjectNameField, []string{"n1", "n2"}, st.NodeSelectorTypeMatchFields)
	}
	if r.IntN(2) == 0 {
		p.Toleration("batch")
	}
	app := map[string]string{"app": []string{"web", "db"}[r.IntN(2)]}
	switch r.IntN(4) {
	case 0:
		p.PodAffinity("zone", &metav1.LabelSelector{MatchLabels: app}, st.PodAffinityWithRequiredReq)
	case 1:
		p.PodAffinity("zone", &metav1.LabelSelector{MatchLabels: app}, st.PodAffinityWithRequiredReq).Label("app", "web")
	}
	return p.Obj()
}

// change makes a random change of a node, or of a pod on a node.
func (s *scene) change(r *rand.Rand) {
	name := fmt.Sprint("n", r.IntN(len(s.nodes)))
	uid := fmt.Sprint("placed-", r.IntN(4))
	switch r.IntN(6) {
	case 0:
		s.state.RemoveNode(name)
	case 1, 2:
		s.setNode(randomNode(r, name))
	case 3:
		s.state.Release(uid)
	default:
		placed := pod(uid).Node(name).Label("app", []string{"web", "db", "other"}[r.IntN(3)]).Obj()
		if err := s.bind(placed); err != nil {
			s.Fatal(err)
		}
	}
}

// TestFewNodes checks that if Begin returns a list of nodes, the list has all nodes that Check
// accepts. It also checks that if Refusals returns a tally, the tally counts the reasons that Check
// gives for the nodes. Meanwhile nodes and pods change at random.
func TestFewNodes(t *testing.T) {
	s, r := newScene(t), rand.New(rand.NewPCG(6, 6))
	for i := range 6 {
		s.with([]*v1.Node{randomNode(r, fmt.Sprint("n", i))})
	}
	named, refused := 0, 0
	for range 2000 {
		s.change(r)
		request := s.request(randomRuled(r))
		only, why := s.proposer.Begin(request)
		all, tally := s.proposer.Refusals(), sched.Tally{}
		for _, name := range s.nodes {
			record := s.state.Record(name)
			if record == nil {
				continue
			}
			against := why
			if !why.Refuses() {
				against = s.proposer.Check(record)
			}
			tally[against]++
			if !against.Refuses() && only != nil && !slices.Contains(only, name) {
				t.Fatalf("%s suits the pod, and is not among %v", name, only)
			}
		}
		if only != nil {
			named++
		}
		if all == nil || why.Refuses() {
			continue
		}
		refused++
		if diff := cmp.Diff(tally, all); diff != "" {
			t.Fatalf("refusals (-want +got):\n%s", diff)
		}
	}
	if named < 500 || refused < 100 {
		t.Errorf("of 2000 pods, %d were restricted to few nodes and %d refused by all: want more", named, refused)
	}
}

// TestInfeasibleAtOnce checks that Begin returns an empty list for a pod that no node suits. It
// also checks that nodes suit the pod once a suitable node is added or the neighbor that the pod
// requires exists.
func TestInfeasibleAtOnce(t *testing.T) {
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for _, c := range []struct {
		name string
		pod  *v1.Pod
		help func(*scene)
	}{
		{"selector", pod("p").NodeSelector(map[string]string{"disk": "ssd"}).Obj(), func(s *scene) { s.setNode(node("n0").Label("disk", "ssd").Obj()) }},
		{"neighbor", pod("p").PodAffinity(v1.LabelHostname, web, st.PodAffinityWithRequiredReq).Obj(), func(s *scene) {
			if err := s.bind(pod("web").Node("n0").Label("app", "web").Obj()); err != nil {
				s.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t).with([]*v1.Node{node("n0").Obj()})
			request := s.read(c.pod)
			if only, _ := s.proposer.Begin(request); only == nil || len(only) > 0 {
				t.Errorf("before: Begin = %v, want no node", only)
			}
			if why := s.proposer.Check(s.state.Record("n0")); !why.Refuses() {
				t.Error("before: n0 suits")
			}
			if lacks := request.Lacks != nil && request.Lacks(); lacks != (c.name == "neighbor") {
				t.Errorf("before: Lacks = %v", lacks)
			}
			c.help(s)
			if request.Lacks != nil && request.Lacks() {
				t.Error("after: the pod lacks a neighbor")
			}
			if only, _ := s.proposer.Begin(request); only != nil && len(only) == 0 {
				t.Error("after: no node may suit")
			}
			if why := s.proposer.Check(s.state.Record("n0")); why.Refuses() {
				t.Errorf("after: n0 does not suit: %s", why)
			}
		})
	}
}

// TestSetsAreDropped checks that the results of the filters stay correct if pods have more distinct
// rules (such as node selectors) than the number of node sets that the cache keeps.
func TestSetsAreDropped(t *testing.T) {
	s := newScene(t).with([]*v1.Node{node("n0").Label("i", "0").Obj(), node("n1").Obj(), node("n2").Obj(), node("n3").Obj()})
	for i := range 2*maxSets + 1 {
		only, _ := s.proposer.Begin(s.request(pod("p").NodeSelector(map[string]string{"i": fmt.Sprint(i % (maxSets + 1))}).Obj()))
		if suits := i%(maxSets+1) == 0; (len(only) == 1) != suits {
			t.Fatalf("pod %d: Begin = %v", i, only)
		}
	}
}

// TestOutdated checks which changes of nodes make a pod's explanation outdated. The explanation
// says why the pod waits. The pod has the node selector disk=ssd.
func TestOutdated(t *testing.T) {
	s, outdated := newScene(t), map[string]int{}
	s.cluster.Announce(func([]sched.Topic, func(*sched.Pod) bool) {}, func(rules string) { outdated[rules]++ })
	request := s.request(pod("p").NodeSelector(map[string]string{"disk": "ssd"}).Obj())
	s.proposer.Begin(request)
	for _, c := range []struct {
		event string
		do    func()
		want  int
	}{
		{"a node comes", func() { s.setNode(node("n1").Obj()) }, 1},
		{"its annotation changes", func() { s.setNode(node("n1").Annotation("a", "b").Obj()) }, 0},
		{"a label changes that the pod does not select", func() { s.setNode(node("n1").Label("zone", "z1").Obj()) }, 0},
		{"it is cordoned", func() { s.setNode(node("n1").Unschedulable(true).Obj()) }, 1},
		{"it has the label, too", func() { s.setNode(node("n1").Label("disk", "ssd").Unschedulable(true).Obj()) }, 0},
		{"it is uncordoned", func() { s.setNode(node("n1").Label("disk", "ssd").Obj()) }, 1},
		{"it is gone", func() { s.state.RemoveNode("n1") }, 1},
	} {
		clear(outdated)
		c.do()
		if got := outdated[request.Foreign.(*Pod).rules]; got != c.want {
			t.Errorf("%s: outdated %d times, want %d", c.event, got, c.want)
		}
	}
}
