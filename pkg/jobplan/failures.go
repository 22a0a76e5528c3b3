package jobplan

import (
	"fmt"
	"time"
)

// recordPods records which pods have succeeded, which have failed, and which have ended before they
// started. A pod that is being deleted does not count, because the deletion may have caused its
// failure. Pods whose index is beyond the current number of replicas do not count either.
func (p *planner) recordPods() {
	for _, pod := range p.pods {
		if pod.Deleting || p.isExcess(pod) {
			continue
		}
		switch pod.State {
		case Succeeded:
			p.Done = p.Done.With(pod.Index)
		case Failed:
			p.recordFailure(pod)
		}
		p.recordStart(pod)
	}
}

// recordStart counts a pod that was disrupted before it started, unless it was counted before. A
// pod that has started sets the count of its index back to zero.
func (p *planner) recordStart(pod Pod) {
	switch {
	case pod.Started:
		delete(p.Unstarted, pod.Index)
	case pod.State == Disrupted && p.Unstarted[pod.Index] <= pod.Unstarted:
		if p.Unstarted == nil {
			p.Unstarted = map[int]int{}
		}
		p.Unstarted[pod.Index] = pod.Unstarted + 1
	}
}

// recordFailure counts the failure of a pod and records an event, unless this failure was counted
// before.
func (p *planner) recordFailure(pod Pod) {
	if p.Failures[pod.Index] > pod.Attempt {
		return
	}
	if p.Failures == nil {
		p.Failures = map[int]int{}
	}
	p.Failures[pod.Index] = pod.Attempt + 1
	p.Events = append(p.Events, Event{pod.Index, true, EventPodFailed, fmt.Sprintf("pod %d failed: %s", pod.Index, pod.Why)})
}

// done returns how many of the job's current replicas have succeeded.
func (p *planner) done() int { return p.Done.Below(p.job.Replicas) }

// restarts returns how often the containers of the job's pods have been restarted. It leaves out
// pods that have failed or are being deleted. It returns 0 if restarts do not count as failures
// (see Job.InPlace).
func (p *planner) restarts() int {
	sum := 0
	for _, pod := range p.pods {
		if p.job.InPlace && !pod.Deleting && pod.State != Failed {
			sum += pod.Restarts
		}
	}
	return sum
}

// lastFailure returns a text to append to the message about a failed job. The text says which pod
// failed last, and why. It is "" if the reason is not known.
func (p *planner) lastFailure() string {
	var last Pod
	for _, pod := range p.pods {
		if pod.State == Failed && !pod.Deleting && !pod.Ended.Before(last.Ended) {
			last = pod
		}
	}
	if last.Why == "" {
		return ""
	}
	return fmt.Sprintf("; last failure: pod %d: %s", last.Index, last.Why)
}

// Delays before a failed pod is replaced, similar to those of a batch/v1 Job. The delay is
// failureBackoff after the first failure of a pod with the same index, doubles with each further
// failure, and is at most maxBackoff.
//
// A disrupted pod (for example, one that its node did not admit) is replaced after
// disruptionBackoff, because another node may admit the new pod. This delay doubles, too, with each
// further pod of the index that is disrupted before it starts: the scheduler may choose the same
// node again and again. It does not double for pods that have started. For example, a pod that runs
// for a week and is then evicted does not say that the next pod will be evicted, too.
const (
	failureBackoff    = 10 * time.Second
	disruptionBackoff = time.Second
	maxBackoff        = 6 * time.Minute
)

// backoff returns the delay after the n-th of several failures. The delay after the first failure
// is `first`. It is also the result if n is zero.
func backoff(first time.Duration, n int) time.Duration {
	const enough = 10 // doubling a second this often exceeds maxBackoff
	return min(first<<min(max(n-1, 0), enough), maxBackoff)
}

// isReplaceable reports whether a pod has failed or been disrupted, and can be replaced now. During
// the delay before the replacement, it returns false, and requests another call of Next for the end
// of the delay (Plan.Requeue). The pod is not deleted during the delay, so that users can read its
// logs.
func (p *planner) isReplaceable(pod Pod) bool {
	var wait time.Duration
	switch pod.State {
	case Failed:
		wait = backoff(failureBackoff, pod.Attempt+1)
	case Disrupted:
		wait = backoff(disruptionBackoff, p.Unstarted[pod.Index])
	default:
		return false
	}
	left := pod.Ended.Add(wait).Sub(p.now)
	p.requeueAfter(left)
	return left <= 0
}
