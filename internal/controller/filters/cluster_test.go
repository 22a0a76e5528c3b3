package filters

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSetNode checks that what a kubelet reports all the time is no news.
func TestSetNode(t *testing.T) {
	c := NewCluster()
	heartbeat := node("a").Obj()
	heartbeat.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, LastHeartbeatTime: metav1.Now()}}
	for _, step := range []struct {
		what string
		node *v1.Node
		want bool
	}{
		{"new", node("a").Obj(), true},
		{"the same", node("a").Obj(), false},
		{"a heartbeat", heartbeat, false},
		{"a taint", node("a").Taints([]v1.Taint{{Key: "batch", Effect: v1.TaintEffectNoSchedule}}).Obj(), true},
		{"less", node("a").Capacity(map[v1.ResourceName]string{"cpu": "1"}).Obj(), true},
	} {
		if got := c.SetNode(step.node); got != step.want {
			t.Errorf("%s: changed = %t, want %t", step.what, got, step.want)
		}
	}
}

// TestUnreadable checks that a pod whose terms cannot be read counts all the same.
func TestUnreadable(t *testing.T) {
	c := NewCluster()
	c.SetNode(node("a").Obj())
	odd := pod("odd").Req(map[v1.ResourceName]string{"cpu": "3"}).Node("a").Obj()
	odd.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey:   "zone",
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Resembles"}}},
		}},
	}}
	if err := c.SetPod(odd); err == nil {
		t.Error("no error says that its terms cannot be read")
	}
	if got := c.node("a").Requested.MilliCPU; got != 3000 {
		t.Errorf("%d milli-CPUs of the node are requested, want 3000", got)
	}
	c.RemovePod(odd)
	if got := c.node("a").Requested.MilliCPU; got != 0 {
		t.Errorf("%d milli-CPUs of the node are requested after the pod is gone, want 0", got)
	}
}
