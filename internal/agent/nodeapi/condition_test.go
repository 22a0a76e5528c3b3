package nodeapi

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestSetNodeCondition(t *testing.T) {
	before, now := time.Unix(1000, 0), time.Unix(2000, 0)
	const own = "Broken"
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, message string, written, since time.Time) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: "R", Message: message, LastHeartbeatTime: metav1.NewTime(written), LastTransitionTime: metav1.NewTime(since)}
	}
	is := func(status corev1.ConditionStatus, message string, written, since time.Time) corev1.NodeCondition {
		return condition(own, status, message, written, since)
	}
	want := func(status corev1.ConditionStatus, message string) *corev1.NodeCondition {
		return &corev1.NodeCondition{Type: own, Status: status, Reason: "R", Message: message}
	}
	for name, tc := range map[string]struct {
		has     []corev1.NodeCondition // beside the condition Ready, which belongs to the kubelet
		want    *corev1.NodeCondition
		result  []corev1.NodeCondition
		patches int
	}{
		"no condition":       {nil, nil, nil, 0},
		"new":                {nil, want("False", "m"), []corev1.NodeCondition{is("False", "m", now, now)}, 1},
		"the same":           {[]corev1.NodeCondition{is("False", "m", before, before)}, want("False", "m"), []corev1.NodeCondition{is("False", "m", before, before)}, 0},
		"another status":     {[]corev1.NodeCondition{is("False", "m", before, before)}, want("True", "m"), []corev1.NodeCondition{is("True", "m", now, now)}, 1},
		"another message":    {[]corev1.NodeCondition{is("True", "m", before, before)}, want("True", "n"), []corev1.NodeCondition{is("True", "n", now, before)}, 1},
		"no longer":          {[]corev1.NodeCondition{is("True", "m", before, before)}, nil, nil, 1},
		"another program's":  {[]corev1.NodeCondition{condition("Other", "True", "m", before, before)}, nil, []corev1.NodeCondition{condition("Other", "True", "m", before, before)}, 0},
		"beside another one": {[]corev1.NodeCondition{condition("Other", "True", "m", before, before)}, want("True", "m"), []corev1.NodeCondition{condition("Other", "True", "m", before, before), is("True", "m", now, now)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ready := condition(corev1.NodeReady, "True", "kubelet", before, before)
			client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}, Status: corev1.NodeStatus{Conditions: append([]corev1.NodeCondition{ready}, tc.has...)}})
			patches := 0
			client.PrependReactor("patch", "nodes", countStatus(&patches))
			if err := SetNodeCondition(t.Context(), client, node, own, tc.want, now); err != nil {
				t.Fatal(err)
			}
			got, err := client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			byType := cmpopts.SortSlices(func(a, b corev1.NodeCondition) bool { return a.Type < b.Type }) // the patch puts a new condition first
			if diff := cmp.Diff(append([]corev1.NodeCondition{ready}, tc.result...), got.Status.Conditions, byType); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if patches != tc.patches {
				t.Errorf("%d patches of the status, want %d", patches, tc.patches)
			}
		})
	}
	if err := SetNodeCondition(t.Context(), fake.NewClientset(), node, own, nil, now); err == nil {
		t.Error("the condition of an absent node was removed")
	}
}

// countStatus counts the patches of the status. The other reactors of the fake client then apply
// them.
func countStatus(patches *int) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() == "status" {
			*patches++
		}
		return false, nil, nil
	}
}
