package nodeapi

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/numalet/numalet/api/v1alpha1"
)

// MarkNode sets the label numalet.dev/exclusive-cpus of a node to "true". The nodeSelector of pods
// with exclusive CPUs requires this label.
func MarkNode(ctx context.Context, client kubernetes.Interface, node string) error {
	return patchLabel(ctx, client, node, "true")
}

// UnmarkNode removes the label numalet.dev/exclusive-cpus from a node. It is no error if the node
// does not have the label.
func UnmarkNode(ctx context.Context, client kubernetes.Interface, node string) error {
	return patchLabel(ctx, client, node, nil)
}

// NodeMarked reports whether the node has the label that MarkNode sets. The API server answers from
// its cache, so the answer may be a little out of date.
func NodeMarked(ctx context.Context, client kubernetes.Interface, node string) (bool, error) {
	found, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return false, fmt.Errorf("get node %q: %w", node, err)
	}
	return found.Labels[v1alpha1.LabelExclusiveCPUs] == "true", nil
}

// patchLabel sets the label numalet.dev/exclusive-cpus of a node to the given value. If the value
// is nil, it removes the label: in a JSON merge patch, null removes a field (RFC 7386).
func patchLabel(ctx context.Context, client kubernetes.Interface, node string, value any) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": map[string]any{v1alpha1.LabelExclusiveCPUs: value}},
	})
	if err != nil {
		return fmt.Errorf("encode label patch: %w", err)
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Component})
	if err != nil {
		return fmt.Errorf("set label %s of node %q to %v: %w", v1alpha1.LabelExclusiveCPUs, node, value, err)
	}
	return nil
}

// Overstep finds out whether Numalet's admission policies (deploy/admission) are in force. It
// tries, as a dry run, to set a label of the node that these policies forbid the agent to set. It
// returns the error of this request. If the policies are in force, the error says that a policy
// refused the request. If the policies are missing, the request usually succeeds.
func Overstep(ctx context.Context, client kubernetes.Interface, node string) error {
	patch := []byte(`{"metadata":{"labels":{"numalet.dev/policy-check":"true"}}}`)
	_, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
