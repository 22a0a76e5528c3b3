package jobplan

import "fmt"

// countActive counts the pods that are pending or running.
func (p *planner) countActive() {
	for _, pod := range p.pods {
		if pod.Deleting || pod.State != Waiting && pod.State != Running {
			continue
		}
		p.Active++
		if pod.Ready {
			p.Ready++
		}
	}
}

// updatePhase sets the phase and the message of a job that is neither over nor suspended.
func (p *planner) updatePhase() {
	running := 0
	for _, pod := range p.pods {
		if pod.State == Running && !pod.Deleting {
			running++
		}
	}
	p.Phase, p.Reason = Pending, ""
	p.Message = fmt.Sprintf("%d of %s running", running, pods(p.job.Replicas))
	if done := p.done(); done > 0 {
		p.Message += fmt.Sprintf(", %d succeeded", done)
	}
	switch enough := running+p.done() >= p.job.MinAvailable; {
	case enough && running > 0:
		p.Phase = Runs
		if p.Started.IsZero() {
			p.Started = p.now
		}
	case !enough && p.job.MinAvailable > 1:
		p.Message += fmt.Sprintf("; at least %d must start together", p.job.MinAvailable)
	}
	if p.job.Deadline > 0 && !p.Started.IsZero() {
		p.requeueAfter(p.Started.Add(p.job.Deadline).Sub(p.now))
	}
}

// recordPhase records an event if the job has failed, succeeded, been suspended or been resumed.
func (p *planner) recordPhase(was Progress) {
	switch {
	case p.Phase == was.Phase:
	case p.Phase == Broken:
		p.Events = append(p.Events, Event{-1, true, p.Reason, p.Message})
	case p.Phase == Complete:
		p.Events = append(p.Events, Event{-1, false, EventCompleted, p.Message})
	case p.Phase == Suspended:
		p.Events = append(p.Events, Event{-1, false, EventSuspended, p.Message})
	case was.Phase == Suspended:
		p.Events = append(p.Events, Event{-1, false, EventResumed, "spec.suspend is false"})
	}
}

// pods returns a number of pods as text, such as "1 pod" or "2 pods".
func pods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// times returns as text how often something happened, such as "once" or "2 times".
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
