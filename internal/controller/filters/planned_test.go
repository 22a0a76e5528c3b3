package filters

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
)

// TestPlan checks that the filters count the pods that were passed to the last call of Plan, and no
// pods of earlier calls. It also checks that the planner's filters (NewPlanner) accept full nodes,
// but refuse unschedulable nodes.
func TestPlan(t *testing.T) {
	loner := func(name string) *v1.Pod {
		return pod(name).Label("app", "train").Req(map[v1.ResourceName]string{"cpu": "1"}).
			PodAntiAffinityExists("app", v1.LabelHostname, st.PodAntiAffinityWithRequiredReq).Obj()
	}
	s := newScene(t).with(
		[]*v1.Node{node("a").Obj(), node("b").Obj(), node("c").Unschedulable(true).Obj()},
		pod("guest").Req(map[v1.ResourceName]string{"cpu": "4"}).Node("a").Obj(),
	)
	planned := func(name, node string) sched.Decision {
		return sched.Decision{Pod: s.request(loner(name)), At: sched.Placement{Node: node}}
	}
	const apart, closed = "node(s) didn't match pod anti-affinity rules", "node(s) were unschedulable"
	first := planned("p", "a")
	for _, tc := range []struct {
		plan []sched.Decision
		want map[string]string
	}{
		{nil, map[string]string{"c": closed}},
		{[]sched.Decision{first}, map[string]string{"a": apart, "c": closed}},
		{[]sched.Decision{first, planned("q", "b")}, map[string]string{"a": apart, "b": apart, "c": closed}},
		{[]sched.Decision{planned("q", "b")}, map[string]string{"b": apart, "c": closed}},
		{nil, map[string]string{"c": closed}},
	} {
		s.planner.Plan(tc.plan)
		got, _ := s.judge(s.planner, loner("r"))
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("plan %v: against nodes (-want +got):\n%s", tc.plan, diff)
		}
	}
}
