package filters

import (
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// randomSelector returns a random selector with up to two requirements.
func randomSelector(r *rand.Rand) *metav1.LabelSelector {
	one := func() metav1.LabelSelectorRequirement {
		key := []string{"app", "tier"}[r.IntN(2)]
		switch op := []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}[r.IntN(4)]; op {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			return metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: []string{"a", "b"}[r.IntN(2):]}
		default:
			return metav1.LabelSelectorRequirement{Key: key, Operator: op}
		}
	}
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{one(), one()}[r.IntN(2):]}
}

func randomTerm(r *rand.Rand) v1.PodAffinityTerm {
	term := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: randomSelector(r)}
	switch r.IntN(3) {
	case 0:
		term.Namespaces = []string{"default", "other"}[r.IntN(2):]
	case 1:
		term.NamespaceSelector = randomSelector(r)
	}
	return term
}

func randomWaiting(t *testing.T, r *rand.Rand) *Pod {
	p := pod("waiting").Obj()
	switch r.IntN(3) {
	case 0:
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{randomTerm(r), randomTerm(r)}}}
	case 1:
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{randomTerm(r)}}}
	case 2:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: randomSelector(r)}}
	}
	known, err := NewPod(p)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

func randomPlaced(t *testing.T, r *rand.Rand) *Pod {
	p := pod("placed").Namespace([]string{"default", "other", "third"}[r.IntN(3)])
	for _, key := range []string{"app", "tier"} {
		if r.IntN(2) == 0 {
			p.Label(key, []string{"a", "b", "c"}[r.IntN(3)])
		}
	}
	known, err := NewPod(p.Obj())
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// TestTopicsFind checks random pairs of a placed pod and a pending pod. If the placed pod matters
// for the pending pod, the two must have a topic in common. Otherwise the pending pod would not be
// retried when the other pod is placed.
func TestTopicsFind(t *testing.T) {
	r, concerned := rand.New(rand.NewPCG(3, 3)), 0
	for range 5000 {
		waiting, placed := randomWaiting(t, r), randomPlaced(t, r)
		if !waiting.concernedBy(placed.info) {
			continue
		}
		concerned++
		announced := appendPlaced(nil, placed.info.Pod)
		if !slices.ContainsFunc(waiting.topics(), func(topic sched.Topic) bool { return slices.Contains(announced, topic) }) {
			t.Fatalf("a pod with the topics %v does not learn of %v", waiting.topics(), announced)
		}
	}
	if concerned < 500 {
		t.Errorf("only %d pairs of pods concern each other", concerned)
	}
}

// TestAnnounce checks which events cause a retry of a pending pod that requires a neighbor with
// app=web.
func TestAnnounce(t *testing.T) {
	waiting := pod("waiting").PodAffinity("zone", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, st.PodAffinityWithRequiredReq).Obj()
	request := &sched.Pod{}
	if err := (Reader{}).ReadPod(waiting, request); err != nil {
		t.Fatal(err)
	}
	var state *nodestate.State
	bind := func(name string, labels map[string]string) {
		p := pod(name).Node("n1").Labels(labels).Obj()
		known, err := NewBoundPod(p, state.Assignment(name))
		if err != nil {
			t.Fatal(err)
		}
		state.Adopt(nodestate.Assignment{UID: name, Node: "n1", Foreign: known})
	}
	decide := func(name string, labels map[string]string) {
		known, err := NewPod(pod(name).Labels(labels).Obj())
		if err != nil {
			t.Fatal(err)
		}
		if !state.Place(&sched.Pod{UID: name, Foreign: known}, state.Record("n1"), sched.Placement{Node: "n1"}, state.NarrowSeq()) {
			t.Errorf("%s is not placed", name)
		}
	}
	set := func(n *v1.Node) { state.SetNode(&sched.Node{Name: n.Name, Foreign: n}) }
	web, db := map[string]string{"app": "web"}, map[string]string{"app": "db"}
	helped := 0
	state = nodestatetest.New(t, "cpu", filter.Profile{})
	cluster := NewCluster(state)
	state.Subscribe(cluster.Observe)
	cluster.Announce(func(topics []sched.Topic, helps func(*sched.Pod) bool) {
		if slices.ContainsFunc(topics, func(topic sched.Topic) bool { return slices.Contains(request.Topics, topic) }) && (helps == nil || helps(request)) {
			helped++
		}
	}, func(string) {})
	for _, c := range []struct {
		event string
		do    func()
		helps int
	}{
		{"a node comes", func() { set(node("n1").Obj()) }, 1},
		{"its annotation changes", func() { set(node("n1").Annotation("a", "b").Obj()) }, 0},
		{"its label changes", func() { set(node("n1").Label("zone", "z1").Obj()) }, 1},
		{"it is cordoned", func() { set(node("n1").Label("zone", "z1").Unschedulable(true).Obj()) }, 1},
		{"another pod is bound", func() { bind("db", db) }, 0},
		{"a neighbour is bound", func() { bind("web", web) }, 1},
		{"its Binding is seen again", func() { bind("web", web) }, 0},
		{"the other becomes a neighbour", func() { bind("db", web) }, 1},
		{"another ends", func() { bind("plain", nil); state.Release("plain") }, 0},
		{"a neighbour ends", func() { state.Release("web") }, 1},
		{"a neighbour is decided", func() { decide("next", web) }, 0},
		{"it is bound", func() { bind("next", web) }, 1},
		{"another is decided", func() { decide("last", web) }, 0},
		{"it cannot be bound", func() { state.Undo(sched.Decision{Pod: &sched.Pod{UID: "last"}, At: sched.Placement{Node: "n1"}}) }, 1},
		{"the node is gone", func() { state.RemoveNode("n1") }, 1},
	} {
		helped = 0
		c.do()
		if helped != c.helps {
			t.Errorf("%s: it helps %d times, want %d", c.event, helped, c.helps)
		}
	}
}
