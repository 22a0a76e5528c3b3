package nodeapi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/numalet/numalet/api/v1alpha1"
)

// TestReject checks that Rejecter sets a pod to Failed with the given reason, and retries if the
// API server refuses the request. If the pod was deleted, Rejecter must change nothing, even if a
// new pod has the same name.
func TestReject(t *testing.T) {
	pods := corev1.Resource("pods")
	for name, tc := range map[string]struct {
		answers []error // errors with which the API server answers before it accepts the request
		asked   int
		failed  bool
	}{
		"at once":        {asked: 1, failed: true},
		"after a while":  {answers: []error{errors.New("no route"), apierrors.NewForbidden(pods, "a", nil)}, asked: 3, failed: true},
		"it is gone":     {answers: []error{apierrors.NewNotFound(pods, "a")}, asked: 1},
		"it is another":  {answers: []error{apierrors.NewConflict(pods, "a", errors.New("uid"))}, asked: 1},
		"another's late": {answers: []error{errors.New("no route"), apierrors.NewConflict(pods, "a", errors.New("uid"))}, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(pod("a", corev1.PodPending))
				asked := 0
				client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
					asked++
					if patch := action.(clienttesting.PatchAction); patch.GetSubresource() != "status" || !strings.Contains(string(patch.GetPatch()), `"uid":"uid-a"`) {
						t.Errorf("patches %q with %s", patch.GetSubresource(), patch.GetPatch())
					}
					if asked <= len(tc.answers) {
						return true, nil, tc.answers[asked-1]
					}
					return false, nil, nil
				})
				r := NewRejecter(client, time.Now)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- r.Run(ctx) }()
				r.Reject(PodRef{Namespace: "default", Name: "a", UID: "uid-a"}, "NumaletPlacementRejected", "no room")
				time.Sleep(time.Minute)
				synctest.Wait()
				if asked != tc.asked {
					t.Errorf("asked %d times, want %d", asked, tc.asked)
				}
				expectFailed(t, client, tc.failed)
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestEnforce checks that Enforce sets a rejected pod to Failed again each time that the kubelet
// overwrites its phase, and that it does not change other pods.
func TestEnforce(t *testing.T) {
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: "no room"}
	}
	const rejected = "NumaletPlacementRejected"
	for name, tc := range map[string]struct {
		phase      corev1.PodPhase
		conditions []corev1.PodCondition
		asked      int
	}{
		"taken back":        {corev1.PodPending, []corev1.PodCondition{condition(corev1.DisruptionTarget, corev1.ConditionTrue, rejected)}, 1},
		"as it should be":   {corev1.PodFailed, []corev1.PodCondition{condition(corev1.DisruptionTarget, corev1.ConditionTrue, rejected)}, 0},
		"never rejected":    {corev1.PodPending, nil, 0},
		"preempted":         {corev1.PodRunning, []corev1.PodCondition{condition(corev1.DisruptionTarget, corev1.ConditionTrue, "PreemptionByScheduler")}, 0},
		"not true":          {corev1.PodPending, []corev1.PodCondition{condition(corev1.DisruptionTarget, corev1.ConditionFalse, rejected)}, 0},
		"another condition": {corev1.PodPending, []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue, rejected)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pod("a", tc.phase)
				p.Status.Conditions = tc.conditions
				client := fake.NewClientset(p)
				r := NewRejecter(client, time.Now)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- r.Run(ctx) }()
				r.Enforce(p)
				synctest.Wait()
				asked := len(client.Actions())
				if asked != tc.asked {
					t.Errorf("asked %d times, want %d", asked, tc.asked)
				}
				if asked > 0 {
					expectFailed(t, client, true)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func expectFailed(t *testing.T, client *fake.Clientset, failed bool) {
	t.Helper()
	want := corev1.PodStatus{Phase: corev1.PodPending}
	if failed {
		want = corev1.PodStatus{
			Phase: corev1.PodFailed, Reason: "NumaletPlacementRejected", Message: "no room",
			Conditions: []corev1.PodCondition{{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "NumaletPlacementRejected", Message: "no room",
			}},
		}
	}
	got, err := client.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Status, cmpopts.IgnoreTypes(metav1.Time{})); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if _, rejected := got.Annotations[v1alpha1.AnnotationRejectedAt]; rejected != failed {
		t.Errorf("annotations %v: more than the status is to change with it, or the kubelet learns of it late", got.Annotations)
	}
}
