package jobplan

import (
	"fmt"
	"maps"
	"time"
)

// Plan is what comes next. Progress has to be remembered before a pod is deleted,
// for it knows more than the pods that stay.
type Plan struct {
	Progress
	Make   []Birth
	Delete []int // indexes, in the order of the pods
	Remove bool  // the job, with all that was made for it
	News   []News
	Again  time.Duration // time alone changes the answer after that; 0 is never
}

// Birth is a pod to make.
type Birth struct{ Index, Attempt int }

// News is something that its author would like to be told, once.
type News struct {
	Index           int // of the pod that it is about; -1 where it is about all
	Warning         bool
	Reason, Message string
}

// planner is a plan that is being made.
type planner struct {
	Plan
	job  Job
	pods []Pod
	now  time.Time
}

// Next returns what comes next. It takes O(pods + replicas).
func Next(job Job, was Progress, pods []Pod, now time.Time) Plan {
	p := &planner{job: job, pods: pods, now: now}
	p.Done, p.Failures = was.Done, maps.Clone(was.Failures)
	p.Phase, p.Reason, p.Message = was.Phase, was.Reason, was.Message
	p.Started, p.Ended = was.Started, was.Ended
	if !p.Phase.Over() {
		p.learn()
		p.judge()
	}
	switch {
	case p.Phase.Over():
		p.tidy()
	case job.Suspend:
		p.suspend()
	default:
		p.run()
	}
	p.count()
	p.announce(was)
	return p.Plan
}

// judge ends the job when it is over.
func (p *planner) judge() {
	failures := p.Failed() + p.starts()
	switch {
	case failures > p.job.BackoffLimit:
		p.end(Broken, ReasonLimit, fmt.Sprintf("its pods failed %s, and backoffLimit is %d", times(failures), p.job.BackoffLimit)+p.last())
	case p.done() == p.job.Replicas:
		p.end(Complete, ReasonComplete, fmt.Sprintf("%s succeeded", pods(p.job.Replicas)))
	case p.job.Suspend:
	case p.job.Flaw != "":
		p.end(Broken, ReasonFlaw, p.job.Flaw)
	case p.late():
		p.end(Broken, ReasonDeadline, fmt.Sprintf("it runs since %s, longer than activeDeadlineSeconds: %.0f", p.Started.UTC().Format(time.RFC3339), p.job.Deadline.Seconds()))
	}
}

func (p *planner) end(phase Phase, reason, message string) {
	p.Phase, p.Reason, p.Message, p.Ended = phase, reason, message, p.now
}

// late reports whether the job ran for too long.
func (p *planner) late() bool {
	return p.job.Deadline > 0 && !p.Started.IsZero() && !p.now.Before(p.Started.Add(p.job.Deadline))
}

// tidy ends what still runs, and the job itself in time.
func (p *planner) tidy() {
	p.deleteWhere(func(pod Pod) bool { return pod.State == Waiting || pod.State == Running })
	if p.job.TTL == nil {
		return
	}
	left := p.Ended.Add(*p.job.TTL).Sub(p.now)
	p.Remove = left <= 0
	p.again(left)
}

// suspend ends what does not stand for a success.
func (p *planner) suspend() {
	p.Phase, p.Reason, p.Message, p.Started = Suspended, ReasonUser, "spec.suspend is true", time.Time{}
	if p.job.Flaw != "" {
		p.Message += ", and once it is not, this is wrong: " + p.job.Flaw
	}
	p.deleteWhere(func(pod Pod) bool { return pod.State != Succeeded || p.outside(pod) })
}

// run makes the pods that lack, and deletes those in whose place others come.
func (p *planner) run() {
	there := make(map[int]bool, len(p.pods))
	for _, pod := range p.pods {
		there[pod.Index] = true
	}
	for i := range p.job.Replicas {
		if !there[i] && !p.Done.Has(i) {
			p.Make = append(p.Make, Birth{i, p.Failures[i]})
		}
	}
	p.deleteWhere(func(pod Pod) bool { return p.outside(pod) || p.due(pod) })
	p.sumUp()
}

// outside reports whether the job has fewer replicas since the pod was made.
func (p *planner) outside(pod Pod) bool { return pod.Index >= p.job.Replicas }

func (p *planner) deleteWhere(unwanted func(Pod) bool) {
	for _, pod := range p.pods {
		if !pod.Going && unwanted(pod) {
			p.Delete = append(p.Delete, pod.Index)
		}
	}
}

// again sees to it that the question is asked again after d at the latest, where d
// is more than 0.
func (p *planner) again(d time.Duration) {
	if d > 0 && (p.Again == 0 || d < p.Again) {
		p.Again = d
	}
}
