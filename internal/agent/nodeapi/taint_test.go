package nodeapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/numalet/numalet/api/v1alpha1"
)

func TestRemoveStartupTaint(t *testing.T) {
	taint := func(key, effect string) corev1.Taint {
		return corev1.Taint{Key: key, Effect: corev1.TaintEffect(effect)}
	}
	startup := v1alpha1.TaintAgentNotReady
	for name, tc := range map[string]struct {
		taints, left []corev1.Taint
		removed      bool
	}{
		"none":        {nil, nil, false},
		"others":      {[]corev1.Taint{taint("x", "NoSchedule")}, []corev1.Taint{taint("x", "NoSchedule")}, false},
		"only it":     {[]corev1.Taint{taint(startup, "NoSchedule")}, []corev1.Taint{}, true},
		"both kinds":  {[]corev1.Taint{taint(startup, "NoSchedule"), taint("x", "NoSchedule"), taint(startup, "NoExecute")}, []corev1.Taint{taint("x", "NoSchedule")}, true},
		"its keyless": {[]corev1.Taint{taint(startup+"-yet", "NoSchedule")}, []corev1.Taint{taint(startup+"-yet", "NoSchedule")}, false},
	} {
		client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: corev1.NodeSpec{Taints: tc.taints, ProviderID: "p"}})
		removed, err := RemoveStartupTaint(t.Context(), client, node)
		if err != nil || removed != tc.removed {
			t.Errorf("%s: removed: %v, %v; want %v", name, removed, err, tc.removed)
		}
		got, err := client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(corev1.NodeSpec{Taints: tc.left, ProviderID: "p"}, got.Spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := RemoveStartupTaint(t.Context(), fake.NewClientset(), node); err == nil {
		t.Error("the taint of an absent node was removed")
	}
}
