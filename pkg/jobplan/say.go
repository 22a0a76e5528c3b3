package jobplan

import "fmt"

// count says how many pods wait or run.
func (p *planner) count() {
	for _, pod := range p.pods {
		if pod.Going || pod.State != Waiting && pod.State != Running {
			continue
		}
		p.Active++
		if pod.Ready {
			p.Ready++
		}
	}
}

// sumUp says how far a job is that is neither over nor suspended.
func (p *planner) sumUp() {
	running := 0
	for _, pod := range p.pods {
		if pod.State == Running && !pod.Going {
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
		p.Message += fmt.Sprintf("; %d start together or not at all", p.job.MinAvailable)
	}
	if p.job.Deadline > 0 && !p.Started.IsZero() {
		p.again(p.Started.Add(p.job.Deadline).Sub(p.now))
	}
}

// announce tells of a phase that is another one than before.
func (p *planner) announce(was Progress) {
	switch {
	case p.Phase == was.Phase:
	case p.Phase == Broken:
		p.News = append(p.News, News{-1, true, p.Reason, p.Message})
	case p.Phase == Complete:
		p.News = append(p.News, News{-1, false, EventCompleted, p.Message})
	case p.Phase == Suspended:
		p.News = append(p.News, News{-1, false, EventSuspended, p.Message})
	case was.Phase == Suspended:
		p.News = append(p.News, News{-1, false, EventResumed, "spec.suspend is false"})
	}
}

func pods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
