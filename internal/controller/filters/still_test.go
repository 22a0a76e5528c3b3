package filters

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
)

// TestResume changes the cluster at random after a proposer has filtered a pod and before the
// committer continues (Committer.Resume). To filter the pod exactly, the committer would have to
// count the pods on many nodes. Instead, it reads only the changes since the proposer filtered the
// pod. The test checks that the committer refuses each node that no longer suits the pod. The
// committer may refuse other nodes as well, but must accept at least half of the nodes that still
// suit the pod.
func TestResume(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	s := newScene(t, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "blue", Labels: map[string]string{"team": "one"}}}, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "green"}})
	w := &world{Rand: r, scene: s, nodes: map[string]*v1.Node{}, pods: map[string]*v1.Pod{}}
	fit, accepted, missed, unfit := 0, 0, 0, 0
	for range 6000 {
		w.step()
		request := s.request(w.pod("pending").Obj())
		if !request.Foreign.(*Pod).wide || len(w.nodes) == 0 {
			continue
		}
		_, nowhere := s.proposer.Begin(request)
		listed := map[string]bool{}
		for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
			listed[name] = !nowhere.Refuses() && !s.proposer.Check(s.state.Record(name)).Refuses()
		}
		results := s.proposer.Results()
		for range r.IntN(3) {
			w.step()
		}
		_, nowhere = s.proposer.Begin(request)
		resumed := s.committer.Resume(request, results)
		for name := range w.nodes {
			record := s.state.Record(name)
			if !listed[name] || record == nil {
				continue
			}
			fits := !nowhere.Refuses() && !s.proposer.Check(record).Refuses()
			accepts := !resumed.Refuses() && !s.committer.Check(record).Refuses()
			switch {
			case fits && accepts:
				fit, accepted = fit+1, accepted+1
			case fits:
				fit, missed = fit+1, missed+1
			case accepts:
				t.Fatalf("node %s is accepted for pod %+v: it fitted before the last changes, and does not now", name, request.Foreign.(*Pod).info.Pod.Spec)
			default:
				unfit++
			}
		}
	}
	if unfit < 50 || accepted < fit/2 || accepted < 500 {
		t.Errorf("%d nodes no longer fitted; %d still fitted, of which %d were accepted and %d not: too few to mean much", unfit, fit, accepted, missed)
	}
}

// TestCountedPlan passes the same planned pods to the filters in two ways: one after another, as
// when a gang is placed, and all together in one call. It checks that the filters refuse the same
// nodes for the same reasons in both cases.
func TestCountedPlan(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	s := newScene(t)
	var nodes []*v1.Node
	for i := range 6 {
		nodes = append(nodes, node(fmt.Sprint("n", i)).Label("zone", fmt.Sprint("z", i%3)).Obj())
	}
	s.with(nodes)
	for range 60 {
		kinds := []*st.PodWrapper{
			pod("near").Label("app", "train").PodAffinityExists("app", "zone", st.PodAffinityWithRequiredReq),
			apart("apart"),
			pod("even").Label("app", "train").SpreadConstraint(1, "zone", v1.DoNotSchedule, st.MakeLabelSelector().Exists("app").Obj(), nil, nil, nil, nil),
			pod("other").Label("app", "web").Label("kind", fmt.Sprint(r.IntN(2))).PodAntiAffinityIn("kind", "zone", []string{"1"}, st.PodAntiAffinityWithRequiredReq),
		}
		var plan []sched.Decision
		s.planner.Plan(nil)
		for i := range 8 {
			kind := kinds[r.IntN(len(kinds))].Obj()
			s.proposer.Plan(nil)
			s.proposer.Plan(plan)
			want, _ := s.judge(s.proposer, kind)
			s.planner.Plan(plan)
			got, _ := s.judge(s.planner, kind)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after %d pods, why nodes do not fit pod %s (-planned at once +one after another):\n%s", i, kind.Name, diff)
			}
			on := fmt.Sprint("n", r.IntN(len(nodes)))
			request := s.request(kind)
			request.UID = fmt.Sprint(kind.Name, i)
			plan = append(plan, sched.Decision{Pod: request, At: sched.Placement{Node: on}})
		}
	}
}

// The function `apart` returns a pod that must not be on a node with another pod that has the label
// app.
func apart(name string) *st.PodWrapper {
	return pod(name).Label("app", "train").PodAntiAffinityExists("app", v1.LabelHostname, st.PodAntiAffinityWithRequiredReq)
}

// TestCountedAfterPlan checks that a pod without a gang does not reuse the pod counts of an earlier
// pod without a gang, because other pods may have been bound in between. In an earlier version,
// this happened if the same proposer had planned a gang before. Two pods with anti-affinity could
// then get the same node.
func TestCountedAfterPlan(t *testing.T) {
	s := newScene(t).with([]*v1.Node{node("n0").Obj(), node("n1").Obj()})
	first := s.request(apart("first").Obj())
	s.planner.Plan(nil)
	s.judge(s.planner, apart("first").Obj())
	s.planner.Plan([]sched.Decision{{Pod: first, At: sched.Placement{Node: "n0"}}})
	s.judge(s.planner, apart("second").Obj())
	s.planner.Plan(nil)
	for i, on := range []string{"n0", "n1"} {
		name := fmt.Sprint("alone", i)
		if refused, _ := s.judge(s.planner, apart(name).Obj()); len(refused) != i {
			t.Errorf("with %d nodes taken, %s does not fit %v", i, name, refused)
		}
		if err := s.bind(apart(name).Node(on).Obj()); err != nil {
			t.Fatal(err)
		}
	}
	if refused, _ := s.judge(s.planner, apart("last").Obj()); len(refused) != 2 {
		t.Errorf("both nodes are taken, and the last pod does not fit %v only", refused)
	}
}

// TestCountedMark plans a gang. After the filters have counted the pods on the nodes for an earlier
// pod of the gang, another pod is bound to a node. The test checks that the proposer or the
// committer refuses this node for a later pod of the gang, which reuses the counts. In an earlier
// version, the committer looked only at the changes since the later pod was filtered.
func TestCountedMark(t *testing.T) {
	s := newScene(t).with([]*v1.Node{node("n0").Obj(), node("n1").Obj(), node("n2").Obj()})
	var plan []sched.Decision
	for _, on := range []string{"n0", "n1"} {
		s.proposer.Plan(plan)
		member := s.request(apart("on-" + on).Obj())
		s.proposer.Begin(member)
		plan = append(plan, sched.Decision{Pod: member, At: sched.Placement{Node: on}})
	}
	if err := s.bind(pod("stranger").Label("app", "train").Node("n2").Obj()); err != nil {
		t.Fatal(err)
	}
	s.proposer.Plan(plan)
	third := s.request(apart("third").Obj())
	s.proposer.Begin(third)
	if why := s.committer.Resume(third, s.proposer.Results()); why.Refuses() {
		t.Fatal(why)
	}
	n2 := s.state.Record("n2")
	if !s.proposer.Check(n2).Refuses() && !s.committer.Check(n2).Refuses() {
		t.Error("proposer and committer accept the node of a pod that the third pod must not be with")
	}
}
