package mirror

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/internal/controller/filters"
	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/queue"
)

const benchNodes = 1000

// BenchmarkPod measures how long the mirror takes for a pod: first the event of the pending pod,
// and then the event of the bound pod.
func BenchmarkPod(b *testing.B) {
	for _, gpus := range []int64{0, 1} {
		b.Run(fmt.Sprintf("gpus=%d", gpus), func(b *testing.B) {
			m := benchMirror(b)
			for i := range benchNodes {
				m.SetNode(nodeOf(fmt.Sprint("n", i), []string{"cpu=1000000", "pods=100000000"}))
			}
			pods := make([][2]*corev1.Pod, b.N)
			for i := range pods {
				pods[i] = pendingAndBound(i, gpus)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for _, pod := range pods {
				m.SetPod(pod[0])
				m.SetPod(pod[1])
			}
		})
	}
}

func benchMirror(b *testing.B) *Mirror {
	return NewMirror(Env{
		State: nodestatetest.New(b, "cpu,numa-total", filter.Profile{}), Filters: filters.Reader{}, GPUs: "nvidia.com/gpu",
		Limit: func(*sched.Pod, map[string]string) error { return nil }, Schedulers: []string{"ours"},
		NamespaceTenant: func(string) string { return "" }, Avoids: func(string, string) bool { return false },
		Pending: func(queue.Entry) {}, Withdraw: func(string) {},
		Refused:  func(_ *sched.Pod, err error) { b.Fatal(err) },
		Odd:      func(err error) { b.Fatal(err) },
		Panicked: func(object string, cause any) { b.Fatal(object, cause) },
	})
}

// pendingAndBound returns a pod as the API server sends it before and after the Binding.
func pendingAndBound(i int, gpus int64) [2]*corev1.Pod {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("128Mi")}
	if gpus > 0 {
		list["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
	}
	pending := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: fmt.Sprintf("pod-%05d", i), UID: types.UID(fmt.Sprint("uid-", i)), Generation: 1},
		Spec: corev1.PodSpec{
			SchedulerName: "ours", Priority: new(int32),
			Containers: []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: list, Limits: list}}},
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64)},
				{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64)},
			},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSGuaranteed},
	}
	bound := pending.DeepCopy()
	bound.Spec.NodeName = fmt.Sprint("n", i%benchNodes)
	bound.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	return [2]*corev1.Pod{pending, bound}
}
