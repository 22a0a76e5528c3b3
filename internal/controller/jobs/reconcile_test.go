package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/numalet/numalet/api/v1alpha1"
)

// TestCacheIsBehind checks a reconciliation while the pods of the job exist but are not in the
// cache yet. The pods must not be created again, and the reconciliation must not fail.
func TestCacheIsBehind(t *testing.T) {
	w := newWorld(t, train())
	w.reconcile()
	first := &corev1.Pod{}
	w.find("train-0", first)
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return nil },
	})
	w.reconcile()
	again := &corev1.Pod{}
	if w.find("train-0", again); again.UID != first.UID || again.ResourceVersion != first.ResourceVersion {
		t.Errorf("pod train-0 was %s %s and is %s %s", first.UID, first.ResourceVersion, again.UID, again.ResourceVersion)
	}
}

// TestCountedFirst checks that a failed pod is not deleted while its failure cannot be written to
// the status, and that the failure is counted only once.
func TestCountedFirst(t *testing.T) {
	w := newWorld(t, train())
	w.reconcile()
	w.ended("train-0", 3)
	late := w.now().Add(time.Minute)
	w.now = func() time.Time { return late }
	server, broken := w.client, errors.New("etcd is away")
	w.client = interceptor.NewClient(server.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return broken
		},
	})
	_, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key})
	if !errors.Is(err, broken) || !w.find("train-0", &corev1.Pod{}) {
		t.Fatalf("Reconcile = %v, and the pod is gone: %v", err, !w.find("train-0", &corev1.Pod{}))
	}
	w.client = server
	w.reconcile()
	w.reconcile()
	pod := &corev1.Pod{}
	if !w.find("train-0", pod) || stateOf(pod) != 0 || podOf(0, pod, w.now()).Attempt != 1 {
		t.Errorf("pod train-0: %+v", pod)
	}
	if got := w.job().Status; got.Failed != 1 {
		t.Errorf("%d failures, want 1", got.Failed)
	}
}

// TestCreationFails checks that the message of a job whose pods cannot be created has the reason and
// the job's progress.
func TestCreationFails(t *testing.T) {
	w := newWorld(t, train())
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, server client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			if _, pod := object.(*corev1.Pod); pod {
				return errors.New("exceeded quota")
			}
			return server.Create(ctx, object, opts...)
		},
	})
	if _, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key}); err == nil {
		t.Error("Reconcile returned no error")
	}
	if got := w.job().Status.Message; !strings.Contains(got, "exceeded quota") || !strings.HasSuffix(got, "; 0 of 2 pods running") {
		t.Errorf("message %q", got)
	}
}

// TestRejectedAgain checks that if a node rejects the pods of one index one after the other, each
// pod is replaced later than the one before. The reconciler is a new one for each pod, as after a
// restart of the controller. A pod that starts ends the series.
func TestRejectedAgain(t *testing.T) {
	w := newWorld(t, train())
	var delays []time.Duration
	for range 3 {
		w.reconcile()
		w.rejected("train-0")
		result, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key})
		if err != nil {
			t.Fatal(err)
		}
		delays = append(delays, result.RequeueAfter)
		late := w.now().Add(result.RequeueAfter)
		again := *w.reconciler
		again.now = func() time.Time { return late }
		w.reconciler = &again
		w.reconcile()
	}
	if diff := cmp.Diff([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, delays); diff != "" {
		t.Errorf("delays before a pod is replaced (-want +got):\n%s", diff)
	}
	w.reconcile()
	status := w.job().Status
	if diff := cmp.Diff([]v1alpha1.IndexFailures{{Index: 0, Count: 3}}, status.Unstarted); diff != "" || status.Failed != 0 {
		t.Errorf("status.unstarted (-want +got):\n%s%d failures, want 0", diff, status.Failed)
	}
	w.ended("train-0", 1)
	w.reconcile()
	if status := w.job().Status; len(status.Unstarted) > 0 || status.Failed != 1 {
		t.Errorf("after the pod has started, status.unstarted is %v, with %d failures", status.Unstarted, status.Failed)
	}
}

// TestNodeIsDown checks a pod that is deleted and does not end, because its node is down. The message
// of the job names the pod and the node, and one event does. The pod is in the cache as the manager
// keeps it.
func TestNodeIsDown(t *testing.T) {
	w := newWorld(t, train())
	w.reconcile()
	pod := &corev1.Pod{}
	w.find("train-1", pod)
	pod.Spec.NodeName, pod.Finalizers = "n7", []string{"example.com/node-is-down"}
	if err := errors.Join(w.client.Update(t.Context(), pod), w.client.Delete(t.Context(), pod)); err != nil {
		t.Fatal(err)
	}
	w.find("train-1", pod)
	late := pod.DeletionTimestamp.Add(time.Minute)
	w.now = func() time.Time { return late }
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, server client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := server.List(ctx, list, opts...)
			for i := range list.(*corev1.PodList).Items {
				_, failed := withoutSpec(&list.(*corev1.PodList).Items[i])
				err = errors.Join(err, failed)
			}
			return err
		},
	})
	w.reconcile()
	w.reconcile()
	note := "node n7 has not ended pod train-1, whose grace period ended at " + pod.DeletionTimestamp.UTC().Format(time.RFC3339) +
		": if the node is down, run kubectl delete pod train-1 --force, or put the taint node.kubernetes.io/out-of-service on the node"
	if diff := cmp.Diff("0 of 2 pods running; "+note, w.job().Status.Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Warning PodStuckTerminating " + note}, w.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestGangShrinks checks that a pod that replaces a failed pod does not wait for pods of its gang
// that have succeeded.
func TestGangShrinks(t *testing.T) {
	job := train()
	job.Spec.Replicas, job.Spec.MinAvailable = 3, 3
	w := newWorld(t, job)
	w.reconcile()
	w.ended("train-0", 0)
	w.ended("train-1", 3)
	late := w.now().Add(time.Minute)
	w.now = func() time.Time { return late }
	w.reconcile()
	w.reconcile()
	pod := &corev1.Pod{}
	if w.find("train-1", pod); pod.Labels[v1alpha1.LabelGang] != "train" || pod.Annotations[v1alpha1.AnnotationGangMinAvailable] != "2" {
		t.Errorf("train-1 has labels %v and annotations %v", pod.Labels, pod.Annotations)
	}
}

// TestGangOfThoseLeft checks that after a pod of a gang has succeeded, the gang size of pending
// pods is lowered, and pods that have a node are not changed.
func TestGangOfThoseLeft(t *testing.T) {
	job := train()
	job.Spec.Replicas, job.Spec.MinAvailable = 3, 3
	w := newWorld(t, job)
	w.reconcile()
	w.scheduled("train-0", "train-2")
	w.ended("train-0", 0)
	w.reconcile()
	got := map[string]string{}
	for _, name := range []string{"train-0", "train-1", "train-2"} {
		pod := &corev1.Pod{}
		w.find(name, pod)
		got[name] = pod.Annotations[v1alpha1.AnnotationGangMinAvailable]
	}
	if diff := cmp.Diff(map[string]string{"train-0": "3", "train-1": "2", "train-2": "3"}, got); diff != "" {
		t.Errorf("how many start together (-want +got):\n%s", diff)
	}
}

// TestDeleted checks that no pods are created for a job that is being deleted.
func TestDeleted(t *testing.T) {
	job := train()
	job.Finalizers = []string{"foregroundDeletion"}
	w := newWorld(t, job)
	if err := w.client.Delete(t.Context(), w.job()); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if w.find("train-0", &corev1.Pod{}) {
		t.Error("pod train-0 was made")
	}
}

// TestDamagedStatus checks that Reconcile returns an error if the job's status cannot be parsed.
func TestDamagedStatus(t *testing.T) {
	job := train()
	job.Status.CompletedIndexes = "2-0"
	w := newWorld(t, job)
	_, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key})
	const want = `read status of job default/train: read indexes "2-0": 2-0 is out of order`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Reconcile = %v, want %s", err, want)
	}
}

// TestLateCorrection checks a replica that was the leader and is paused while it reconciles a job:
// it has read version 1 of the job, and continues after a new leader has read version 2 and has
// written the host lists for it. The former leader must not replace these host lists.
func TestLateCorrection(t *testing.T) {
	job := train()
	job.Spec.Suspend = true // the test changes spec.replicas, which is allowed only while a job is suspended
	w := newWorld(t, job)
	w.reconcile()
	names := &corev1.ConfigMap{}
	w.find("train", names)
	names.Data = nil // so that both leaders have something to correct
	if err := w.client.Update(t.Context(), names); err != nil {
		t.Fatal(err)
	}
	former := *w.reconciler
	former.fresh = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, server client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			err := server.Get(ctx, key, into, opts...)
			newer := w.job()
			newer.Spec.Replicas = 3
			if err := w.client.Update(ctx, newer); err != nil {
				t.Fatal(err)
			}
			w.reconcile()
			return err
		},
	})
	_, err := former.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key})
	if w.find("train", names); !strings.Contains(names.Data["hosts"], "train-2.") || err == nil {
		t.Errorf("the former leader's Reconcile = %v, and the hosts are\n%s", err, names.Data["hosts"])
	}
}

// TestForeignService checks a Service that has the name and the label of a job, but does not belong
// to it. The job must not change it.
func TestForeignService(t *testing.T) {
	w := newWorld(t, train())
	service := &corev1.Service{}
	service.Namespace, service.Name, service.Labels = "default", "train", map[string]string{v1alpha1.LabelJob: "train"}
	service.UID = "service-uid"
	service.Spec.Selector = map[string]string{"app": "db"}
	if err := w.client.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	_, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key})
	const want = "apply Service train: Service train exists and does not belong to this job: delete it, or rename the job"
	if err == nil || err.Error() != want {
		t.Errorf("Reconcile = %v, want %s", err, want)
	}
	if w.find("train", service); service.Spec.Selector["app"] != "db" || len(service.OwnerReferences) > 0 {
		t.Errorf("the Service has the selector %v and the owners %v", service.Spec.Selector, service.OwnerReferences)
	}
}
