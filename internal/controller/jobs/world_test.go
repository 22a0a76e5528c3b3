package jobs

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/numalet/numalet/api/v1alpha1"
)

// world is a fake API server with one job, and a reconciler of this job.
type world struct {
	*testing.T
	*reconciler
	key client.ObjectKey
}

func newWorld(t *testing.T, job *v1alpha1.Job) *world {
	t.Helper()
	known := runtime.NewScheme()
	if err := scheme.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	job.UID = "job-uid"
	server := fake.NewClientBuilder().WithScheme(known).WithObjects(job).WithStatusSubresource(&v1alpha1.Job{}).Build()
	return &world{t, &reconciler{
		client: server, fresh: server, recorder: events.NewFakeRecorder(100), scheme: known, schedulerName: "numalet-scheduler",
		now: func() time.Time { return time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC) },
	}, client.ObjectKeyFromObject(job)}
}

// reconcile reconciles the job once.
func (w *world) reconcile() {
	w.Helper()
	if _, err := w.Reconcile(context.Background(), reconcile.Request{NamespacedName: w.key}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) job() *v1alpha1.Job {
	w.Helper()
	job := &v1alpha1.Job{}
	if !w.find(w.key.Name, job) {
		w.Fatal("the job is gone")
	}
	return job
}

// find reads an object with the given name in the job's namespace, and reports whether
// the object exists.
func (w *world) find(name string, into client.Object) bool {
	w.Helper()
	err := w.fresh.Get(context.Background(), client.ObjectKey{Namespace: w.key.Namespace, Name: name}, into)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return err == nil
}

// scheduled sets the condition PodScheduled of pods to true.
func (w *world) scheduled(names ...string) {
	w.Helper()
	for _, name := range names {
		pod := &corev1.Pod{}
		w.find(name, pod)
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
		if err := w.client.Status().Update(context.Background(), pod); err != nil {
			w.Fatal(err)
		}
	}
}

// ended makes a pod end: its container has ended with the given exit code.
func (w *world) ended(name string, code int32) {
	w.Helper()
	pod := &corev1.Pod{}
	if !w.find(name, pod) {
		w.Fatalf("there is no pod %s", name)
	}
	pod.Status.Phase = corev1.PodFailed
	if code == 0 {
		pod.Status.Phase = corev1.PodSucceeded
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", FinishedAt: metav1.NewTime(w.now())},
	}}}
	if err := w.client.Status().Update(context.Background(), pod); err != nil {
		w.Fatal(err)
	}
}

// events returns the events since the last call.
func (w *world) events() (all []string) {
	for recorded := w.recorder.(*events.FakeRecorder).Events; len(recorded) > 0; {
		all = append(all, <-recorded)
	}
	return all
}

// rejected makes a pod fail before any of its containers starts, as a kubelet does.
func (w *world) rejected(name string) {
	w.Helper()
	pod := &corev1.Pod{}
	if !w.find(name, pod) {
		w.Fatalf("there is no pod %s", name)
	}
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "UnexpectedAdmissionError"
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(w.now())}}
	if err := w.client.Status().Update(context.Background(), pod); err != nil {
		w.Fatal(err)
	}
}

// train returns a job of two pods.
func train() *v1alpha1.Job {
	limit := int32(6)
	job := &v1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train"}}
	job.Spec.Replicas, job.Spec.MinAvailable, job.Spec.BackoffLimit = 2, 1, &limit
	job.Spec.Template.Spec.Raw = []byte(`{"containers":[{"name":"main","image":"none"}]}`)
	return job
}
