package filters

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
)

// TestCrowd places and removes pods at random. It checks that the ratings of nodes are the same
// whether the plugins read only the pods of a crowd (the placed pods that matter for the pending
// pod) or all pods.
func TestCrowd(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	some := func(of ...string) string { return of[r.IntN(len(of))] }
	s := newCrowdScene(t)
	differ := 0
	for i := range 400 {
		s.placeOrRemove(r, some, st.PodAntiAffinityWithPreferredReq)
		ask := s.request(wishing(r, some, fmt.Sprint("pending-", i)).Obj())
		by := s.ratings(ask)
		ask.Foreign.(*Pod).crowd = ""
		all := s.ratings(ask)
		if diff := cmp.Diff(all, by); diff != "" {
			t.Fatalf("step %d: ratings of %+v (-by all pods +by the crowd):\n%s", i, ask.Foreign.(*Pod).info.Pod.Spec, diff)
		}
		for _, one := range all {
			if one != all[0] {
				differ++
				break
			}
		}
	}
	if differ < 100 {
		t.Errorf("nodes differ %d times: too few to mean much", differ)
	}
}

// newCrowdScene returns a scene with nine nodes in three zones, and two namespaces.
func newCrowdScene(t *testing.T) *scene {
	s := newScene(t, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "blue"}}, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "green"}})
	var nodes []*v1.Node
	for i := range 9 {
		nodes = append(nodes, node(fmt.Sprint("n", i)).Label("zone", fmt.Sprint(i%3)).Label(v1.LabelHostname, fmt.Sprint("n", i)).Obj())
	}
	return s.with(nodes)
}

// placeOrRemove places or removes a random pod. Some of the placed pods have anti-affinity of the
// given kind.
func (s *scene) placeOrRemove(r *rand.Rand, some func(...string) string, kind st.PodAffinityKind) {
	s.Helper()
	name := fmt.Sprint("placed-", r.IntN(30))
	if r.IntN(3) == 0 {
		s.state.Release(name)
		return
	}
	p := pod(name).Namespace(some("blue", "green")).Label("app", some("web", "db", "x")).Node(some(s.nodes...))
	if r.IntN(4) == 0 {
		p.PodAntiAffinityExists("app", some("zone", v1.LabelHostname), kind)
	}
	if r.IntN(8) == 0 {
		p.Terminating()
	}
	if err := s.bind(p.Obj()); err != nil {
		s.Fatal(err)
	}
}

// TestRequiredCrowd places and removes pods at random, and plans pods as for a gang. It checks that
// pods with required (anti-)affinity fit the same nodes whether the plugin InterPodAffinity reads
// only the pods of a crowd (see TestCrowd) or all pods.
func TestRequiredCrowd(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	some := func(of ...string) string { return of[r.IntN(len(of))] }
	s := newCrowdScene(t)
	refused, suited := 0, 0
	for i := range 2000 {
		s.placeOrRemove(r, some, st.PodAntiAffinityWithRequiredReq)
		var planned []sched.Decision
		for j := range r.IntN(3) {
			planned = append(planned, sched.Decision{Pod: s.request(requiring(r, some, fmt.Sprint("planned-", i, j)).Obj()), At: sched.Placement{Node: some(s.nodes...)}})
		}
		ask := s.request(requiring(r, some, fmt.Sprint("pending-", i)).Obj())
		s.proposer.Plan(planned)
		by, _ := s.refusals(s.proposer, ask)
		ask.Foreign.(*Pod).requires = ""
		s.proposer.Plan(nil) // drops the stored pod counts, which the proposer would reuse otherwise
		s.proposer.Plan(planned)
		all, _ := s.refusals(s.proposer, ask)
		if diff := cmp.Diff(all, by); diff != "" {
			t.Fatalf("step %d: refusals of %+v (-by all pods +by the crowd):\n%s", i, ask.Foreign.(*Pod).info.Pod.Spec, diff)
		}
		refused, suited = refused+len(all), suited+len(s.nodes)-len(all)
	}
	if refused < 1000 || suited < 1000 {
		t.Errorf("%d refusals and %d suiting nodes compared: too few of one to mean much", refused, suited)
	}
}

// requiring returns a pod with random required affinity and anti-affinity.
func requiring(r *rand.Rand, some func(...string) string, name string) *st.PodWrapper {
	p := pod(name).Namespace(some("blue", "green")).Label("app", some("web", "db"))
	if r.IntN(2) == 0 {
		p.PodAntiAffinityIn("app", some("zone", v1.LabelHostname), []string{some("web", "db", "x")}, st.PodAntiAffinityWithRequiredReq)
	}
	if r.IntN(3) == 0 {
		p.PodAffinityIn("app", "zone", []string{some("web", "db"), "x"}, st.PodAffinityWithRequiredReq)
	}
	if r.IntN(4) == 0 {
		p.PodAffinityExists("app", some("zone", v1.LabelHostname), st.PodAffinityWithRequiredReq)
	}
	return p
}

// wishing returns a pod with random preferences about other pods.
func wishing(r *rand.Rand, some func(...string) string, name string) *st.PodWrapper {
	p := pod(name).Namespace(some("blue", "green")).Label("app", some("web", "db"))
	key := some("zone", v1.LabelHostname)
	if r.IntN(2) == 0 {
		p.PodAntiAffinityIn("app", key, []string{some("web", "db")}, st.PodAntiAffinityWithPreferredReq)
	}
	if r.IntN(2) == 0 {
		p.PodAffinityExists("app", some("zone", v1.LabelHostname), st.PodAffinityWithPreferredReq)
	}
	if r.IntN(2) == 0 {
		p.SpreadConstraint(1, key, v1.ScheduleAnyway, st.MakeLabelSelector().In("app", []string{some("web", "db")}).Obj(), nil, nil, nil, nil)
	}
	return p
}

// ratings returns the ratings (scores) of all nodes for a pod.
func (s *scene) ratings(ask *sched.Pod) (all []int64) {
	s.Helper()
	if _, why := s.proposer.Begin(ask); why.Refuses() {
		s.Fatal(why)
	}
	var nodes []*sched.Node
	for _, name := range s.nodes {
		nodes = append(nodes, s.state.Record(name))
	}
	if s.proposer.Preferring(len(nodes)) == 0 {
		return nil
	}
	return s.proposer.rate(nodes)
}
