//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// rejected is the reason in the event and in the status of a pod after its node has rejected the
// pod's placement. The placement has the CPUs and GPUs that the controller has chosen for the pod
// on this node.
const rejected = v1alpha1.ReasonPlacementRejected

// TestRejected checks that a pod of a Job fails if its placement has CPUs that another pod holds.
// The Job does not count this failure, and creates a new pod. The controller then assigns free CPUs
// to the new pod.
func TestRejected(t *testing.T) {
	ctx := start(t, 8*time.Minute, "held")
	must(t, cluster.Forget(ctx))
	held := born(ctx, t, place(ctx, t, e2eutil.Pod("held", "single", e2eutil.Container{Name: "c", CPU: "4"})).Name, "c")
	t.Cleanup(func() { scaleControllers(context.Background(), t, 2) })
	scaleControllers(ctx, t, 0)
	job := makeJob(ctx, t, "anew")
	first := podOf(ctx, t, job, nothingElse)
	bindAsController(ctx, t, first, placement(perNode(held)))

	failed, err := cluster.Await(ctx, first.Name, func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed })
	must(t, err)
	if why, rejected := v1alpha1.Rejection(failed); !rejected || !strings.Contains(why.Message, "Job anew creates a new pod") {
		t.Errorf("failed: %+v", failed.Status)
	}
	must(t, cluster.AwaitEvent(ctx, first.Name, rejected, "this node cannot honour the pod's placement"))
	another := func(pod *corev1.Pod) bool { return pod.UID != first.UID }
	podOf(ctx, t, job, another)
	scaleControllers(ctx, t, 2)
	done := podOf(ctx, t, job, func(pod *corev1.Pod) bool { return another(pod) && e2eutil.Succeeded(pod) })
	cpus := born(ctx, t, "anew", "c")
	checkPromised(t, done, "c", cpus)
	if cpus.Overlaps(held) {
		t.Errorf("the new pod was born on %v, and %v are held", cpus, held)
	}
	checkLives(ctx, t)
}

// TestForged checks that only the controller may set a placement.
func TestForged(t *testing.T) {
	ctx := start(t, 2*time.Minute, "by-hand", "bound", "placed")
	by := e2eutil.Pod("by-hand", "single", e2eutil.Container{Name: "c", CPU: "2"})
	by.Annotations[v1alpha1.AnnotationPlacement] = placement(map[topology.NodeID]int{1: 2})
	_, err := cluster.Create(ctx, by)
	refusedFor(t, err, "only the numalet controller may set")

	bound := e2eutil.Pod("bound", "single", e2eutil.Container{Name: "c", CPU: "2"})
	bound.Spec.SchedulerName = "nobody"
	bound, err = cluster.Create(ctx, bound)
	must(t, err)
	refusedFor(t, bind(ctx, cluster.API, bound, placement(map[topology.NodeID]int{1: 2})), "only the numalet controller may set")

	pod := place(ctx, t, e2eutil.Pod("placed", "single", e2eutil.Container{Name: "c", CPU: "2"}))
	pod.Annotations[v1alpha1.AnnotationPlacement] = placement(map[topology.NodeID]int{1: 1, 2: 1})
	_, err = cluster.API.CoreV1().Pods(pod.Namespace).Update(ctx, pod, metav1.UpdateOptions{})
	refusedFor(t, err, "cannot change after the pod was created")
}

func refusedFor(t *testing.T, err error, sentence string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), sentence) {
		t.Errorf("%v, want a refusal with %q", err, sentence)
	}
}

func nothingElse(*corev1.Pod) bool { return true }

// makeJob creates a Job of one pod. The Job ignores the failures of pods that have the condition
// DisruptionTarget.
func makeJob(ctx context.Context, t *testing.T, name string) *batchv1.Job {
	t.Helper()
	pod := e2eutil.Once(e2eutil.Pod(name, "single", e2eutil.Container{Name: "c", CPU: "4", Life: 3 * time.Second}))
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: cluster.Node()}
	jobs, tries := cluster.API.BatchV1().Jobs(cluster.Namespace), int32(0)
	job, err := jobs.Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			BackoffLimit: &tries,
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionIgnore,
				OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
					{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
				},
			}}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: pod.Annotations}, Spec: pod.Spec},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		policy := metav1.DeletePropagationForeground
		must(t, jobs.Delete(context.Background(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
	})
	return job
}

// podOf waits until the function `ok` returns true for a pod of a Job, and returns this pod.
func podOf(ctx context.Context, t *testing.T, job *batchv1.Job, ok func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	for {
		list, err := cluster.API.CoreV1().Pods(cluster.Namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job.Name})
		must(t, err)
		for _, pod := range list.Items {
			if ok(&pod) {
				return &pod
			}
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// bindAsController binds a pod to the node, with the service account of the controller.
func bindAsController(ctx context.Context, t *testing.T, pod *corev1.Pod, placement string) {
	t.Helper()
	controller, err := cluster.As("system:serviceaccount:numalet-system:numalet-controller")
	must(t, err)
	must(t, bind(ctx, controller, pod, placement))
}

// bind binds a pod to the node, with the given placement.
func bind(ctx context.Context, api kubernetes.Interface, pod *corev1.Pod, placement string) error {
	return api.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Annotations: map[string]string{v1alpha1.AnnotationPlacement: placement}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: cluster.Node()},
	}, metav1.CreateOptions{})
}

// placement returns a placement that gives the container "c" the given number of CPUs of each NUMA
// node.
func placement(counts map[topology.NodeID]int) string {
	text, err := v1alpha1.FormatPlacement(map[string]v1alpha1.ContainerPlacement{"c": {CPUs: counts}})
	if err != nil {
		panic(fmt.Sprintf("invariant: counts are JSON: %v", err))
	}
	return text
}
