package groups

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// writeInterval is the shortest time between two rounds in which the statuses of GPU groups are
// written. The interval limits the load on the API server, because each pod with GPUs of a group
// changes the usage in the group's status when it gets a node and when it ends.
const writeInterval = time.Second

// StatusWriter writes the status of each GPUGroup whose status is out of date. Any goroutine may
// call its methods. Run may be called only once.
type StatusWriter struct {
	client  dynamic.Interface
	now     func() time.Time
	changed chan struct{}
	mu      struct {
		sync.Mutex
		objects  map[string]*v1alpha1.GPUGroup
		verdicts map[string]Verdict
	}
}

// NewStatusWriter returns a StatusWriter that knows no group.
func NewStatusWriter(client dynamic.Interface, now func() time.Time) *StatusWriter {
	w := &StatusWriter{client: client, now: now, changed: make(chan struct{}, 1)}
	w.mu.objects, w.mu.verdicts = map[string]*v1alpha1.GPUGroup{}, map[string]Verdict{}
	return w
}

// SetGroup adds or replaces a group.
func (w *StatusWriter) SetGroup(group *v1alpha1.GPUGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.objects[group.Name] = group
	w.Notify()
}

// RemoveGroup removes a group.
func (w *StatusWriter) RemoveGroup(group *v1alpha1.GPUGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mu.objects, group.Name)
	delete(w.mu.verdicts, group.Name)
}

// Report records the newest verdict on a group.
func (w *StatusWriter) Report(verdict Verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.verdicts[verdict.Name] = verdict
	w.Notify()
}

// Notify makes Run compare the statuses of all groups with the current verdicts and usage. Notify
// returns at once.
func (w *StatusWriter) Notify() {
	select {
	case w.changed <- struct{}{}:
	default: // Run is notified already
	}
}

// Holders is a function that returns how much each tenant holds of a group's GPUs.
type Holders func(group string) map[string]sched.MilliGPU

// Run writes the outdated statuses of groups, until ctx is done.
func (w *StatusWriter) Run(ctx context.Context, of Holders) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.changed:
		}
		if w.writeAll(ctx, of) {
			select {
			case <-ctx.Done():
			case <-time.After(writeInterval):
			}
		}
	}
}

// writeAll writes the statuses that are out of date, and reports whether there were any. Run
// retries failed writes in the next round.
func (w *StatusWriter) writeAll(ctx context.Context, of Holders) (wrote bool) {
	for object, status := range w.outdated(of) {
		wrote = true
		if err := write(ctx, w.client, object, status); err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "the status of a GPU group is out of date; it is written again")
			w.Notify()
		}
	}
	return wrote
}

// outdated returns the groups whose status is out of date, each with the status to write.
func (w *StatusWriter) outdated(of Holders) map[*v1alpha1.GPUGroup]v1alpha1.GPUGroupStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	outdated := map[*v1alpha1.GPUGroup]v1alpha1.GPUGroupStatus{}
	for name, object := range w.mu.objects {
		v, known := w.mu.verdicts[name]
		if !known || !v.of(object) {
			continue
		}
		want := status(object.Status, v, of(name), metav1.NewTime(w.now()))
		if !equality.Semantic.DeepEqual(want, object.Status) {
			outdated[object] = want
		}
	}
	return outdated
}

// status returns the new status of a group, made from the newest verdict and from what each tenant
// holds of the group's GPUs. The parameter `before` is the current status of the group. If the status
// of a condition does not change, the condition keeps its transition time.
func status(before v1alpha1.GPUGroupStatus, verdict Verdict, holders map[string]sched.MilliGPU, now metav1.Time) v1alpha1.GPUGroupStatus {
	s := v1alpha1.GPUGroupStatus{ObservedGeneration: verdict.Generation, Conditions: slices.Clone(before.Conditions), InForce: verdict.InForce, GPUs: int32(verdict.GPUs)}
	for _, c := range []metav1.Condition{
		{Type: v1alpha1.ConditionAccepted, Status: conditionStatus(verdict.Accepted), Reason: verdict.Reason, Message: verdict.Message},
		{Type: v1alpha1.ConditionShared, Status: conditionStatus(len(verdict.Shared) > 0), Reason: sharedReason(verdict), Message: verdict.sharing()},
	} {
		c.ObservedGeneration, c.LastTransitionTime = verdict.Generation, now
		meta.SetStatusCondition(&s.Conditions, c)
	}
	used := sched.MilliGPU(0)
	for _, tenant := range slices.Sorted(maps.Keys(holders)) {
		used += holders[tenant]
		s.Usage = append(s.Usage, v1alpha1.TenantGPUs{Tenant: tenant, GPUs: gpus(holders[tenant])})
	}
	all := gpus(used)
	s.Used = &all
	return s
}

func conditionStatus(is bool) metav1.ConditionStatus {
	if is {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

func sharedReason(verdict Verdict) string {
	if len(verdict.Shared) > 0 {
		return "SharedGPUs"
	}
	return "Disjoint"
}

func gpus(amount sched.MilliGPU) resource.Quantity {
	return *resource.NewMilliQuantity(int64(amount), resource.DecimalSI)
}

// write replaces the status of a group. It does nothing if the group was deleted. It uses a JSON
// patch, because a merge patch would keep fields that only the old status has. The patch contains
// the group's UID, so that the API server refuses the patch if the group was deleted and a new
// group has the same name.
func write(ctx context.Context, client dynamic.Interface, object *v1alpha1.GPUGroup, s v1alpha1.GPUGroupStatus) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "add", "path": "/metadata/uid", "value": object.UID},
		{"op": "add", "path": "/status", "value": s},
	})
	if err != nil {
		return fmt.Errorf("encode status of GPUGroup %q: %w", object.Name, err)
	}
	_, err = client.Resource(v1alpha1.GPUGroupResource()).
		Patch(ctx, object.Name, types.JSONPatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("write status of GPUGroup %q: %w", object.Name, err)
	}
	return nil
}
