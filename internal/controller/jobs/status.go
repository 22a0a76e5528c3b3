package jobs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/jobplan"
)

// progressOf reads the progress of a job from its status.
func progressOf(job *v1alpha1.Job) (jobplan.Progress, error) {
	s := &job.Status
	p := jobplan.Progress{Phase: jobplan.Phase(s.Phase), Failures: counts(s.Failures), Unstarted: counts(s.Unstarted)}
	var err error
	if p.Done, err = jobplan.ParseIndexes(s.CompletedIndexes); err != nil {
		return p, fmt.Errorf("read status of job %s/%s: %w", job.Namespace, job.Name, err)
	}
	if s.StartTime != nil {
		p.Started = s.StartTime.Time
	}
	p.Message = s.Message
	if end := meta.FindStatusCondition(s.Conditions, conditionOf(p.Phase)); end != nil && p.Phase.Over() {
		p.Reason, p.Message, p.Ended = end.Reason, end.Message, end.LastTransitionTime.Time
	}
	return p, nil
}

// conditionOf returns the type of the condition that is true while a job is in a phase. It returns
// "" if no condition stands for the phase.
func conditionOf(phase jobplan.Phase) string {
	switch phase {
	case jobplan.Suspended:
		return v1alpha1.ConditionSuspended
	case jobplan.Complete:
		return v1alpha1.ConditionComplete
	case jobplan.Broken:
		return v1alpha1.ConditionFailed
	default:
		return ""
	}
}

// writeStatus writes the status of the job, and then records the events of the plan. The write
// fails if the job has changed since it was read. The parameter `failed` is the error of an earlier
// step, or nil. If it is not nil, its text becomes the message in the status.
func (t *task) writeStatus(ctx context.Context, failed error) error {
	before := t.job.DeepCopy()
	t.setStatus(&t.job.Status)
	if failed != nil {
		t.job.Status.Message = failed.Error()
		if !t.plan.Phase.Over() { // the message of a job that is over is never computed again
			t.job.Status.Message += "; " + t.plan.Message
		}
	}
	if !equality.Semantic.DeepEqual(before.Status, t.job.Status) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := t.client.Status().Patch(ctx, t.job, patch); err != nil {
			return fmt.Errorf("write status of job %s/%s: %w", t.job.Namespace, t.job.Name, err)
		}
	}
	for _, e := range t.plan.Events {
		t.record(e)
	}
	return nil
}

func (t *task) record(e jobplan.Event) {
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	if pod := t.pods[e.Index]; pod != nil {
		t.recorder.Eventf(t.job, pod, kind, e.Reason, "Reconciling", "%s", e.Message)
		return
	}
	t.recorder.Eventf(t.job, nil, kind, e.Reason, "Reconciling", "%s", e.Message)
}

// setStatus sets the status of the job according to t.plan.
func (t *task) setStatus(status *v1alpha1.JobStatus) {
	p := t.plan.Progress
	status.ObservedGeneration = t.job.Generation
	status.Phase, status.Message = v1alpha1.JobPhase(p.Phase), p.Message
	status.PodCounts = v1alpha1.PodCounts{
		Active: int32(p.Active), Ready: int32(p.Ready), Succeeded: int32(len(p.Done)), Failed: int32(p.Failed()),
	}
	status.CompletedIndexes, status.Failures = p.Done.String(), listOf(p.Failures)
	status.Unstarted = listOf(p.Unstarted)
	status.StartTime, status.CompletionTime = nil, nil
	if !p.Started.IsZero() {
		status.StartTime = &metav1.Time{Time: p.Started}
	}
	if p.Phase == jobplan.Complete {
		status.CompletionTime = &metav1.Time{Time: p.Ended}
	}
	status.Objects = slices.SortedFunc(slices.Values(t.objects), func(a, b v1alpha1.JobObject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	t.setConditions(status)
}

// setConditions sets the condition of the current phase to true, if the phase has a condition. If
// the condition Suspended is true, but the job is not suspended any more, setConditions sets this
// condition to false.
func (t *task) setConditions(s *v1alpha1.JobStatus) {
	p, now := t.plan.Progress, metav1.NewTime(t.now())
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message,
			ObservedGeneration: t.job.Generation, LastTransitionTime: now,
		})
	}
	if kind := conditionOf(p.Phase); kind != "" {
		set(kind, metav1.ConditionTrue, p.Reason, p.Message)
	}
	if p.Phase != jobplan.Suspended && meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionSuspended) {
		set(v1alpha1.ConditionSuspended, metav1.ConditionFalse, "JobResumed", "spec.suspend is false")
	}
}

// counts returns the numbers of pods in a list of the status, by index.
func counts(list []v1alpha1.IndexFailures) map[int]int {
	all := map[int]int{}
	for _, f := range list {
		all[int(f.Index)] = int(f.Count)
	}
	return all
}

// listOf returns numbers of pods as a list of the status.
func listOf(counts map[int]int) []v1alpha1.IndexFailures {
	var all []v1alpha1.IndexFailures
	for _, index := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, v1alpha1.IndexFailures{Index: int32(index), Count: int32(counts[index])})
	}
	return all
}
