package groups

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// status returns a group's status: what became of it, and who holds how much. The
// times of conditions that stay as they are stay, too.
func status(before v1alpha1.GPUGroupStatus, v Verdict, holders map[string]sched.MilliGPU, now metav1.Time) v1alpha1.GPUGroupStatus {
	s := v1alpha1.GPUGroupStatus{ObservedGeneration: v.Generation, Conditions: slices.Clone(before.Conditions), GPUs: int32(v.GPUs)}
	for _, c := range []metav1.Condition{
		{Type: v1alpha1.ConditionAccepted, Status: truth(v.Accepted), Reason: v.Reason, Message: v.Message},
		{Type: v1alpha1.ConditionShared, Status: truth(len(v.Shared) > 0), Reason: sharedReason(v), Message: v.sharing()},
	} {
		c.ObservedGeneration, c.LastTransitionTime = v.Generation, now
		meta.SetStatusCondition(&s.Conditions, c)
	}
	used := sched.MilliGPU(0)
	for _, tenant := range slices.Sorted(maps.Keys(holders)) {
		used += holders[tenant]
		s.Usage = append(s.Usage, v1alpha1.TenantGPUs{Tenant: tenant, GPUs: cards(holders[tenant])})
	}
	all := cards(used)
	s.Used = &all
	return s
}

func truth(is bool) metav1.ConditionStatus {
	if is {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

func sharedReason(v Verdict) string {
	if len(v.Shared) > 0 {
		return "SharedGPUs"
	}
	return "Disjoint"
}

func cards(amount sched.MilliGPU) resource.Quantity {
	return *resource.NewMilliQuantity(int64(amount), resource.DecimalSI)
}

// write replaces the status of a group. One that is gone needs none.
func write(ctx context.Context, client dynamic.Interface, object *v1alpha1.GPUGroup, s v1alpha1.GPUGroupStatus) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
	if err != nil {
		return fmt.Errorf("encode status of GPUGroup %q: %w", object.Name, err)
	}
	if len(s.Usage) == 0 {
		fields["usage"] = nil // a merge would leave the old one
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": object.UID}, "status": fields})
	if err != nil {
		return fmt.Errorf("encode status of GPUGroup %q: %w", object.Name, err)
	}
	_, err = client.Resource(v1alpha1.GPUGroupResource()).
		Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("write status of GPUGroup %q: %w", object.Name, err)
	}
	return nil
}
