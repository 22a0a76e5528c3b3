package jobplan

import (
	"fmt"
	"maps"
	"time"
)

// Plan is the next steps of a job. The caller must store Progress before it deletes a pod. After
// the deletion, only the stored Progress still says whether the pod succeeded or failed.
type Plan struct {
	Progress
	Create  []Creation
	Delete  []int // indexes of the pods to delete
	Remove  bool  // whether to delete the job with all its objects
	Events  []Event
	Requeue time.Duration // call Next again after this time; 0 if no new plan is needed until something changes
}

// Creation is a pod to create.
type Creation struct{ Index, Attempt, Unstarted int }

// Event is a Kubernetes event that the caller must record once.
type Event struct {
	Index           int // of the pod that the event is about; -1 for the job
	Warning         bool
	Reason, Message string
}

// planner builds a plan.
type planner struct {
	Plan
	job  Job
	pods []Pod
	now  time.Time
}

// Next returns the next steps of a job. The parameter `was` is the Progress in the plan that the
// previous call of Next returned for this job.
func Next(job Job, was Progress, pods []Pod, now time.Time) Plan {
	p := &planner{job: job, pods: pods, now: now}
	p.Done, p.Failures, p.Unstarted = was.Done, maps.Clone(was.Failures), maps.Clone(was.Unstarted)
	p.Phase, p.Reason, p.Message = was.Phase, was.Reason, was.Message
	p.Started, p.Ended = was.Started, was.Ended
	if !p.Phase.Over() {
		p.recordPods()
		p.checkEnd()
	}
	switch {
	case p.Phase.Over():
		p.cleanUp()
	case job.Suspend:
		p.suspend()
	default:
		p.run()
	}
	p.countActive()
	p.recordPhase(was)
	return p.Plan
}

// checkEnd ends the job if it has succeeded or failed.
func (p *planner) checkEnd() {
	failures := p.Failed() + p.restarts()
	switch {
	case failures > p.job.BackoffLimit:
		p.end(Broken, ReasonLimit, fmt.Sprintf("pods failed %s, which exceeds backoffLimit %d", times(failures), p.job.BackoffLimit)+p.lastFailure())
	case p.done() == p.job.Replicas:
		p.end(Complete, ReasonComplete, fmt.Sprintf("%s succeeded", pods(p.job.Replicas)))
	case p.job.Suspend:
	case p.job.Invalid != "":
		p.end(Broken, ReasonInvalid, p.job.Invalid)
	case p.exceedsDeadline():
		p.end(Broken, ReasonDeadline, fmt.Sprintf("the job has been running since %s, longer than activeDeadlineSeconds %.0f", p.Started.UTC().Format(time.RFC3339), p.job.Deadline.Seconds()))
	}
}

// end ends the job now.
func (p *planner) end(phase Phase, reason, message string) {
	p.Phase, p.Reason, p.Message, p.Ended = phase, reason, message, p.now
}

// exceedsDeadline reports whether the job has run for as long as its deadline, or longer.
func (p *planner) exceedsDeadline() bool {
	return p.job.Deadline > 0 && !p.Started.IsZero() && !p.now.Before(p.Started.Add(p.job.Deadline))
}

// cleanUp deletes the waiting and running pods of a job that is over, and the job itself after its
// TTL.
func (p *planner) cleanUp() {
	p.deleteWhere(func(pod Pod) bool { return pod.State == Waiting || pod.State == Running })
	if p.job.TTL == nil {
		return
	}
	left := p.Ended.Add(*p.job.TTL).Sub(p.now)
	p.Remove = left <= 0
	p.requeueAfter(left)
}

// suspend deletes the pods of a suspended job. It keeps pods that have succeeded, unless the job no
// longer has their index (isExcess).
func (p *planner) suspend() {
	p.Phase, p.Reason, p.Message, p.Started = Suspended, ReasonUser, "spec.suspend is true", time.Time{}
	p.Unstarted = nil // the first pods after the suspension have no delay
	if p.job.Invalid != "" {
		p.Message += "; it cannot be resumed: " + p.job.Invalid
	}
	p.deleteWhere(func(pod Pod) bool { return pod.State != Succeeded || p.isExcess(pod) })
}

// run plans the steps for a job that is neither over nor suspended. It creates missing pods. It
// deletes pods that are to be replaced, and pods whose index the job no longer has (isExcess).
func (p *planner) run() {
	there := make(map[int]bool, len(p.pods))
	for _, pod := range p.pods {
		there[pod.Index] = true
	}
	for i := range p.job.Replicas {
		if !there[i] && !p.Done.Has(i) {
			p.Create = append(p.Create, Creation{i, p.Failures[i], p.Unstarted[i]})
		}
	}
	p.deleteWhere(func(pod Pod) bool { return p.isExcess(pod) || p.isReplaceable(pod) })
	before := p.Message
	p.updatePhase()
	p.reportStuck(before)
}

// isExcess reports whether the job no longer has the pod's index. The indexes of a job with n
// replicas are 0 to n-1.
func (p *planner) isExcess(pod Pod) bool { return pod.Index >= p.job.Replicas }

// deleteWhere plans to delete the pods for which the function given as `unwanted` returns true. It
// leaves out pods that are being deleted already.
func (p *planner) deleteWhere(unwanted func(Pod) bool) {
	for _, pod := range p.pods {
		if !pod.Deleting && unwanted(pod) {
			p.Delete = append(p.Delete, pod.Index)
		}
	}
}

// requeueAfter requests another call of Next after the time d, or earlier. It does nothing if d is
// not positive.
func (p *planner) requeueAfter(d time.Duration) {
	if d > 0 && (p.Requeue == 0 || d < p.Requeue) {
		p.Requeue = d
	}
}
