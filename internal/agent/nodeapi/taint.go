package nodeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/api/v1alpha1"
)

// RemoveStartupTaint removes the taint numalet.dev/agent-not-ready from the node, and reports
// whether the node had the taint. It reads the node from the API server's cache. It returns a
// conflict error if the cache was out of date, or if the node changes before the write. The caller
// must then try again.
//
// RemoveStartupTaint replaces the whole list of taints, so the patch has the resourceVersion of the
// node that was read. A JSON patch could remove only this taint. But it would need the index of the
// taint in the list, and other clients can change the list at any time.
func RemoveStartupTaint(ctx context.Context, client kubernetes.Interface, node string) (removed bool, err error) {
	found, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return false, fmt.Errorf("get node %q: %w", node, err)
	}
	left := slices.DeleteFunc(slices.Clone(found.Spec.Taints), func(t corev1.Taint) bool { return t.Key == v1alpha1.TaintAgentNotReady })
	if len(left) == len(found.Spec.Taints) {
		return false, nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": found.ResourceVersion},
		"spec":     map[string]any{"taints": left},
	})
	if err != nil {
		return false, fmt.Errorf("encode taint patch: %w", err)
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Component})
	if err != nil {
		return false, fmt.Errorf("remove taint %s of node %q: %w", v1alpha1.TaintAgentNotReady, node, err)
	}
	return true, nil
}
