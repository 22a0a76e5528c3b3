package filters

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
)

// TestFilter checks that the filters give the same result for a pod and a node as kube-scheduler,
// with the same message.
func TestFilter(t *testing.T) {
	zones := func() []*v1.Node {
		return []*v1.Node{node("a").Label("zone", "east").Obj(), node("b").Label("zone", "east").Obj(), node("c").Label("zone", "west").Obj()}
	}
	web := func(name, node string) *v1.Pod { return pod(name).Label("app", "web").Node(node).Obj() }
	for name, tc := range map[string]struct {
		nodes  []*v1.Node
		placed []*v1.Pod
		pod    *st.PodWrapper
		want   map[string]string // why a node does not suit, by node name; the nodes that are left out suit
		says   string            // the summary for all nodes; "" to skip this check
	}{
		"nothing asked": {nodes: zones(), pod: pod("p"), want: map[string]string{}},
		"taint": {
			nodes: []*v1.Node{
				node("a").Taints([]v1.Taint{{Key: "batch", Value: "yes", Effect: v1.TaintEffectNoSchedule}}).Obj(),
				node("b").Taints([]v1.Taint{{Key: "batch", Value: "yes", Effect: v1.TaintEffectPreferNoSchedule}}).Obj(),
			},
			pod:  pod("p"),
			want: map[string]string{"a": "node(s) had untolerated taint(s)"},
		},
		"taint tolerated": {
			nodes: []*v1.Node{node("a").Taints([]v1.Taint{{Key: "batch", Effect: v1.TaintEffectNoSchedule}}).Obj()},
			pod:   pod("p").Toleration("batch"),
			want:  map[string]string{},
		},
		"unschedulable": {
			nodes: []*v1.Node{node("a").Unschedulable(true).Obj(), node("b").Obj()},
			pod:   pod("p"),
			want:  map[string]string{"a": "node(s) were unschedulable"},
		},
		"node selector": {
			nodes: zones(), pod: pod("p").NodeSelector(map[string]string{"zone": "west"}),
			want: map[string]string{
				"a": "node(s) didn't match Pod's node affinity/selector",
				"b": "node(s) didn't match Pod's node affinity/selector",
			},
		},
		"node affinity": {
			nodes: zones(), pod: pod("p").NodeAffinityNotIn("zone", []string{"east"}),
			want: map[string]string{
				"a": "node(s) didn't match Pod's node affinity/selector",
				"b": "node(s) didn't match Pod's node affinity/selector",
			},
		},
		"node by name": {
			nodes: zones(), pod: st.MakePod().Name("p").UID("p").NodeAffinityIn("metadata.name", []string{"b"}, st.NodeSelectorTypeMatchFields),
			want: map[string]string{
				"a": "node(s) didn't satisfy plugin(s) [NodeAffinity]",
				"c": "node(s) didn't satisfy plugin(s) [NodeAffinity]",
			},
		},
		"host port": {
			nodes: zones(), placed: []*v1.Pod{pod("x").HostPort(80).Node("a").Obj()}, pod: pod("p").HostPort(80),
			want: map[string]string{"a": "node(s) didn't have free ports for the requested pod ports"},
		},
		"resources": {
			nodes:  []*v1.Node{node("a").Obj(), node("b").Obj(), node("c").Taints([]v1.Taint{{Key: "batch", Effect: v1.TaintEffectNoSchedule}}).Obj()},
			placed: []*v1.Pod{pod("x").Req(map[v1.ResourceName]string{"cpu": "3", "memory": "7Gi"}).Node("a").Obj()},
			pod:    pod("p").Req(map[v1.ResourceName]string{"cpu": "2", "memory": "2Gi", "example.com/gpu": "1"}),
			want: map[string]string{
				"a": "Insufficient cpu, Insufficient memory, Insufficient example.com/gpu",
				"b": "Insufficient example.com/gpu",
				"c": "node(s) had untolerated taint(s)",
			},
			says: "0/3 nodes are available: 2 Insufficient example.com/gpu, 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) had untolerated taint(s).",
		},
		"too many pods": {
			nodes:  []*v1.Node{node("a").Capacity(map[v1.ResourceName]string{"pods": "1"}).Obj()},
			placed: []*v1.Pod{web("x", "a")}, pod: pod("p"),
			want: map[string]string{"a": "Too many pods"},
		},
		"beside other pods": {
			nodes: zones(), placed: []*v1.Pod{web("x", "c")}, pod: pod("p").PodAffinityExists("app", "zone", st.PodAffinityWithRequiredReq),
			want: map[string]string{"a": "node(s) didn't match pod affinity rules", "b": "node(s) didn't match pod affinity rules"},
		},
		"apart from other pods": {
			nodes: zones(), placed: []*v1.Pod{web("x", "a")}, pod: pod("p").PodAntiAffinityExists("app", "zone", st.PodAntiAffinityWithRequiredReq),
			want: map[string]string{"a": "node(s) didn't match pod anti-affinity rules", "b": "node(s) didn't match pod anti-affinity rules"},
		},
		"others keep apart from it": {
			nodes:  zones(),
			placed: []*v1.Pod{pod("x").PodAntiAffinityExists("app", "zone", st.PodAntiAffinityWithRequiredReq).Node("a").Obj()},
			pod:    pod("p").Label("app", "web"),
			want: map[string]string{
				"a": "node(s) didn't satisfy existing pods anti-affinity rules",
				"b": "node(s) didn't satisfy existing pods anti-affinity rules",
			},
		},
		"others keep apart from others": {
			nodes:  zones(),
			placed: []*v1.Pod{pod("x").PodAntiAffinityExists("app", "zone", st.PodAntiAffinityWithRequiredReq).Node("a").Obj()},
			pod:    pod("p").Label("role", "db"), want: map[string]string{},
		},
		"spread": {
			nodes: zones(), placed: []*v1.Pod{web("x", "a"), web("y", "b")},
			pod:  pod("p").Label("app", "web").SpreadConstraint(1, "zone", v1.DoNotSchedule, st.MakeLabelSelector().Exists("app").Obj(), nil, nil, nil, nil),
			want: map[string]string{"a": "node(s) didn't match pod topology spread constraints", "b": "node(s) didn't match pod topology spread constraints"},
		},
		"spread preferred": {
			nodes: zones(), placed: []*v1.Pod{web("x", "a"), web("y", "b")},
			pod:  pod("p").Label("app", "web").SpreadConstraint(1, "zone", v1.ScheduleAnyway, st.MakeLabelSelector().Exists("app").Obj(), nil, nil, nil, nil),
			want: map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t).with(tc.nodes, tc.placed...)
			got, says := s.judge(s.proposer, tc.pod.Obj())
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("a first-tier scheduler's filters (-want +got):\n%s", diff)
			}
			if tc.says != "" && says != tc.says {
				t.Errorf("people read %q, want %q", says, tc.says)
			}
			if got, _ := s.judge(s.committer, tc.pod.Obj()); !cmp.Equal(tc.want, got) {
				t.Errorf("the committer's filters (-want +got):\n%s", cmp.Diff(tc.want, got))
			}
		})
	}
}
