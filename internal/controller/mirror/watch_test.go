package mirror

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	fakesource "k8s.io/client-go/tools/cache/testing"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched"
)

// TestWatch checks that the state of the nodes equals the objects in the API server once the
// informers are synced. It checks this again after a pod is deleted and created again with the same
// name.
func TestWatch(t *testing.T) {
	before := scenario.Words{"cpu=3", "policy=random", "node=n1", "placement=0:2,1:1"}
	client := fake.NewClientset(nodeOf("n1", scenario.Words{"cpu=8"}), podOf("a", before))
	source := fakesource.NewFakeControllerSource()
	source.Add(topologyOf("n1", scenario.Words{"numa=0:0-3,1:4-7"}))
	scene := newScene(t)
	factory := NewInformers(client, client.CoreV1())
	nodeTopologies, err := custom(source, &v1alpha1.NodeTopology{})
	if err != nil {
		t.Fatal(err)
	}
	synced, _, err := Watch(factory, nodeTopologies, scene.mirror)
	if err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	go nodeTopologies.RunWithContext(t.Context())
	if !cache.WaitForCacheSync(t.Context().Done(), synced...) {
		t.Fatal("not synced")
	}
	awaitShown(t, scene, "n1: free 5000m of 8000m CPU, 109 of 110 pods; NUMA 0 2 of 4; NUMA 1 3 of 4; core width 1, spare 1\n")

	pods := client.CoreV1().Pods("default")
	anew := podOf("a", scenario.Words{"cpu=1", "node=n1"})
	anew.UID = "uid-anew"
	if err := pods.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Create(t.Context(), anew, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitShown(t, scene, "n1: free 7000m of 8000m CPU, 109 of 110 pods; NUMA 0 4 of 4; NUMA 1 4 of 4; core width 1, spare 1\n")
}

func awaitShown(t *testing.T, s *scene, want string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); s.show() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the centre has\n%swant\n%s", s.show(), want)
		}
	}
}

// TestReplaced checks an update from an old pod to a new pod with the same name. An informer sends
// such an update if it has missed the deletion of the old pod.
func TestReplaced(t *testing.T) {
	scene := newScene(t)
	scene.mirror.SetNode(nodeOf("n1", scenario.Words{"cpu=8"}))
	h := handle(scene.mirror.SetPod, scene.mirror.RemovePod, samePod)
	old, now := podOf("a", scenario.Words{"cpu=3", "node=n1"}), podOf("a", scenario.Words{"cpu=1", "node=n1"})
	now.UID = "uid-anew"
	h.OnAdd(old, false)
	h.OnUpdate(old, now)
	if got, want := scene.show(), "n1: free 7000m of 8000m CPU, 109 of 110 pods\n"; got != want {
		t.Errorf("replaced: %s, want %s", got, want)
	}
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/a", Obj: now})
	if got, want := scene.show(), "n1: free 8000m of 8000m CPU, 110 of 110 pods\n"; got != want {
		t.Errorf("deleted: %s, want %s", got, want)
	}
}

// TestRequestsDuringAPodLevelResize checks which CPU requests count while the resources of a whole
// pod, and not those of a container, are resized in place. From Kubernetes 1.36 on, the kubelet
// reports in the status of the pod what it has allocated, and what the pod has now.
func TestRequestsDuringAPodLevelResize(t *testing.T) {
	cpus := func(cpu string) corev1.ResourceList { return corev1.ResourceList{"cpu": quantity(cpu)} }
	for name, tc := range map[string]struct {
		spec, allocated, actual, pending string // allocated is "" if the kubelet does not report it
		want                             sched.MilliCPU
	}{
		"not reported":             {"1", "", "", "", 1000},
		"smaller, not allocated":   {"1", "4", "4", corev1.PodReasonDeferred, 4000},
		"smaller, not in force":    {"1", "1", "4", "", 4000},
		"smaller, complete":        {"1", "1", "1", "", 1000},
		"larger, deferred":         {"4", "1", "1", corev1.PodReasonDeferred, 4000},
		"larger, found infeasible": {"4", "1", "1", corev1.PodReasonInfeasible, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}, Resources: &corev1.ResourceRequirements{Requests: cpus(tc.spec)}}}
			if tc.allocated != "" {
				pod.Status.AllocatedResources, pod.Status.Resources = cpus(tc.allocated), &corev1.ResourceRequirements{Requests: cpus(tc.actual)}
			}
			if tc.pending != "" {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: tc.pending}}
			}
			if got, err := requests(pod); got.CPU != tc.want || err != nil {
				t.Errorf("requests = %dm CPU, %v, want %dm", got.CPU, err, tc.want)
			}
		})
	}
}
