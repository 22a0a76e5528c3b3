package filters

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// BenchmarkInfeasible measures the search for a pod that fits no node, although all nodes have
// enough free resources. There are three reasons: all nodes lack a label that the pod requires, all
// nodes have a taint that the pod does not tolerate, or no pod exists that the pod requires as a
// neighbor.
func BenchmarkInfeasible(b *testing.B) {
	never := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "never"}}
	taint := v1.Taint{Key: "team", Value: "others", Effect: v1.TaintEffectNoSchedule}
	tolerant := func() *st.PodWrapper {
		return pod("p").Tolerations([]v1.Toleration{{Key: taint.Key, Operator: v1.TolerationOpExists}})
	}
	for _, nodes := range []int{1000, 5000, 20_000, 100_000} {
		a := newArena(b, nodes, 4, 0.5)
		for _, record := range a.records {
			record.Foreign.(*v1.Node).Spec.Taints = []v1.Taint{taint}
		}
		state := a.newState(distbucket.LeastFit)
		proposer := pipeline.NewProposer(state.View, pipeline.ProposerOptions{Filter: a.first[0]})
		for name, object := range map[string]*v1.Pod{
			"taint":    pod("p").Obj(),
			"selector": tolerant().NodeSelector(map[string]string{"disk": "none"}).Obj(),
			"affinity": tolerant().NodeAffinityIn("disk", []string{"none"}, st.NodeSelectorTypeMatchExpressions).Obj(),
			"neighbor": tolerant().PodAffinity("zone", never, st.PodAffinityWithRequiredReq).Obj(),
		} {
			b.Run(fmt.Sprintf("%s/nodes=%d", name, nodes), func(b *testing.B) {
				request := &sched.Pod{UID: "p", Name: "p", Namespace: "default", Requests: sched.Amounts{CPU: 100, Pods: 1}}
				if err := (Reader{Cluster: a.cluster}).ReadPod(object, request); err != nil {
					b.Fatal(err)
				}
				proposer.Propose(request) // the first search visits all nodes to fill the caches (see the type `tracked`), and is not measured
				var clock meter
				b.ReportAllocs()
				clock.start()
				for b.Loop() {
					if list := proposer.Propose(request); len(list.Candidates) > 0 {
						b.Fatal("a node suits the pod")
					}
				}
				clock.stop()
				clock.report(b, b.N)
			})
		}
	}
}
