package filters

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/pkg/sched"
)

// TestSameNode checks that SameNode ignores a kubelet's heartbeats, and notices a new taint and a
// smaller capacity.
func TestSameNode(t *testing.T) {
	var before *v1.Node
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
		if got := before == nil || !SameNode(before, step.node); got != step.want {
			t.Errorf("%s: changed = %t, want %t", step.what, got, step.want)
		}
		before = step.node
	}
}

// TestUnreadable checks that the requests of a bound pod count on its node even if the pod's
// affinity terms are invalid.
func TestUnreadable(t *testing.T) {
	s := newScene(t).with([]*v1.Node{node("a").Obj()})
	odd := pod("odd").Req(map[v1.ResourceName]string{"cpu": "3"}).Node("a").Obj()
	odd.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey:   "zone",
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Resembles"}}},
		}},
	}}
	if err := s.bind(odd); err == nil {
		t.Error("no error says that its terms cannot be read")
	}
	if got := s.cluster.node("a").Requested.MilliCPU; got != 3000 {
		t.Errorf("%d milli-CPUs of the node are requested, want 3000", got)
	}
	s.state.Release("odd")
	if got := s.cluster.node("a").Requested.MilliCPU; got != 0 {
		t.Errorf("%d milli-CPUs of the node are requested after the pod is gone, want 0", got)
	}
}

// TestRecords checks that Cluster.at returns a node's newest nodeInfo for each record of the node,
// whether the record is old or new. It also checks that Cluster.at returns nil once the node is
// removed.
func TestRecords(t *testing.T) {
	s := newScene(t)
	records := []*sched.Node{{Name: "a"}}
	for i := range 5 {
		cpus := int64(i + 1)
		s.setNode(node("a").Capacity(map[v1.ResourceName]string{"cpu": fmt.Sprint(cpus), "pods": "10"}).Obj())
		records = append(records, s.state.Record("a"))
		for j, record := range records {
			if got := s.cluster.at(record).Allocatable.MilliCPU; got != cpus*1000 {
				t.Errorf("step %d, record %d: %d milli-CPUs, want %d", i, j, got, cpus*1000)
			}
		}
		pod := s.request(pod(fmt.Sprint("p", i)).Obj())
		if !s.state.Place(pod, s.state.Record("a"), sched.Placement{Node: "a"}, s.state.NarrowSeq()) {
			t.Fatalf("step %d: the node is another", i)
		}
		for j, record := range records {
			if got := len(s.cluster.at(record).Pods); got != i+1 {
				t.Errorf("step %d, record %d: %d pods, want the %d that were decided to go there", i, j, got, i+1)
			}
		}
	}
	s.state.RemoveNode("a")
	for j, record := range records {
		if s.cluster.at(record) != nil {
			t.Errorf("record %d: the node is gone, and known", j)
		}
	}
}
