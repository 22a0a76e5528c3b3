package nodeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	nodeutil "k8s.io/component-helpers/node/util"
)

// SetNodeCondition sets the node's condition of the given type to the status, reason and message of
// `want`. If `want` is nil, it removes the condition. It writes nothing if the node is already as
// wanted, so that repeated calls cost only a read. Like the kubelet, it sets LastHeartbeatTime at
// each write, and LastTransitionTime only if the status changes.
//
// The patch has only this condition. A strategic merge patch merges the list of conditions by type,
// so the conditions of the kubelet and of other programs stay as they are.
func SetNodeCondition(ctx context.Context, client kubernetes.Interface, node string, kind corev1.NodeConditionType, want *corev1.NodeCondition, now time.Time) error {
	// The request does not have ResourceVersion "0". With it, the API server would answer from its
	// cache, which could lack this program's last write and show the former status.
	found, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get node %q: %w", node, err)
	}
	_, current := nodeutil.GetNodeCondition(&found.Status, kind)
	var change any
	switch {
	case want == nil && current == nil:
		return nil
	case want == nil:
		change = map[string]any{"type": kind, "$patch": "delete"}
	case current != nil && current.Status == want.Status && current.Reason == want.Reason && current.Message == want.Message:
		return nil
	default:
		next := corev1.NodeCondition{Type: kind, Status: want.Status, Reason: want.Reason, Message: want.Message,
			LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now)}
		if current != nil && current.Status == want.Status {
			next.LastTransitionTime = current.LastTransitionTime
		}
		change = next
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{change}}})
	if err != nil {
		return fmt.Errorf("encode patch of condition %s: %w", kind, err)
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: Component}, "status")
	if err != nil {
		return fmt.Errorf("set condition %s of node %q: %w", kind, node, err)
	}
	return nil
}
