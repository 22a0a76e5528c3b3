//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/test/e2e/e2eutil"
)

// TestFailedBind checks a pod whose Binding the API server refuses. The pod must hold no resources
// between the attempts to bind it, and an event must say why the Binding was refused. Once the API
// server accepts the Binding, the pod is bound.
func TestFailedBind(t *testing.T) {
	ctx := start(t, 5*time.Minute, "unbindable", "other")
	before, counted := available(ctx, t), countedByLeader(ctx, t)
	allow := refuseBinding(ctx, t, "unbindable")
	_, err := cluster.Create(ctx, e2eutil.Pod("unbindable", "random", e2eutil.Container{Name: "c", CPU: "12"}))
	must(t, err)
	must(t, cluster.AwaitEvent(ctx, "unbindable", "FailedScheduling", "not now"))
	awaitUndone(ctx, t, counted, 3)

	other := place(ctx, t, e2eutil.Pod("other", "random", e2eutil.Container{Name: "c", CPU: "12"}))
	checkPromised(t, other, "c", born(ctx, t, "other", "c"))
	_, err = cluster.Await(ctx, "unbindable", unschedulable)
	must(t, err)
	must(t, cluster.Delete(ctx, "other"))
	awaitUndone(ctx, t, countedByLeader(ctx, t), 1)
	if got, err := cluster.Await(ctx, "unbindable", func(*corev1.Pod) bool { return true }); err != nil || len(got.Annotations) != 1 {
		t.Errorf("the pod carries %v (%v), want its policy only", got.Annotations, err)
	}
	for id, n := range available(ctx, t) {
		if n != before[id] {
			t.Errorf("NUMA node %d: %d CPUs are available, want %d", id, n, before[id])
		}
	}
	allow()
	pod, err := cluster.Await(ctx, "unbindable", e2eutil.Running)
	must(t, err)
	checkPromised(t, pod, "c", born(ctx, t, "unbindable", "c"))
}

// awaitUndone waits until the leader has undone n scheduling decisions whose Bindings failed. The
// parameter `before` is an earlier scrape of the leader's metrics: what was undone before this scrape
// does not count.
func awaitUndone(ctx context.Context, t *testing.T, before e2eutil.Series, n float64) {
	t.Helper()
	for {
		now := countedByLeader(ctx, t)
		if now.Since(before, "numalet_scheduler_undone_total") >= n && now.Since(before, `numalet_scheduler_bind_duration_seconds_count{result="error"}`) >= n {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("fewer than %g decisions were taken back", n)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// refuseBinding makes the API server refuse the Bindings of a pod, until the returned function is
// called or the test ends.
func refuseBinding(ctx context.Context, t *testing.T, pod string) (allow func()) {
	t.Helper()
	name, fail := "numalet-e2e-"+pod, admissionv1.Fail
	api := cluster.API.AdmissionregistrationV1()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/binding"}},
				},
			}}},
			Validations: []admissionv1.Validation{{Expression: "object.metadata.name != '" + pod + "'", Message: "not now"}},
		},
	}
	_, err := api.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		must(t, api.ValidatingAdmissionPolicies().Delete(context.Background(), name, metav1.DeleteOptions{}))
	})
	_, err = api.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	removed := false
	allow = func() {
		if !removed {
			must(t, api.ValidatingAdmissionPolicyBindings().Delete(context.Background(), name, metav1.DeleteOptions{}))
		}
		removed = true
	}
	t.Cleanup(allow)
	time.Sleep(2 * time.Second) // the API server needs up to a second to compile changed policies
	return allow
}
