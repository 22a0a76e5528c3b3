package jobplan

import (
	"fmt"
	"time"
)

// learn remembers what pods came to. One that is being deleted came to nothing: it
// ends as it does because somebody told it to.
func (p *planner) learn() {
	for _, pod := range p.pods {
		if pod.Going || p.outside(pod) {
			continue
		}
		switch pod.State {
		case Succeeded:
			p.Done = p.Done.With(pod.Index)
		case Failed:
			p.blame(pod)
		}
	}
}

// blame remembers a failure, and says so the first time.
func (p *planner) blame(pod Pod) {
	if p.Failures[pod.Index] > pod.Attempt {
		return
	}
	if p.Failures == nil {
		p.Failures = map[int]int{}
	}
	p.Failures[pod.Index] = pod.Attempt + 1
	p.News = append(p.News, News{pod.Index, true, EventPodFailed, fmt.Sprintf("pod %d failed: %s", pod.Index, pod.Why)})
}

// done returns how many of the pods that the job has succeeded.
func (p *planner) done() int { return p.Done.Below(p.job.Replicas) }

// starts returns how often the node started failed containers again.
func (p *planner) starts() int {
	sum := 0
	for _, pod := range p.pods {
		if p.job.InPlace && !pod.Going && pod.State != Failed {
			sum += pod.Starts
		}
	}
	return sum
}

// last says what became of the pod that failed last.
func (p *planner) last() string {
	var last Pod
	for _, pod := range p.pods {
		if pod.State == Failed && !pod.Going && !pod.Ended.Before(last.Ended) {
			last = pod
		}
	}
	if last.Why == "" {
		return ""
	}
	return fmt.Sprintf("; the last was pod %d: %s", last.Index, last.Why)
}

// Pauses before a pod is made anew, as batch/v1 has them: the first failure's,
// which doubles with each more, and the longest. After a disruption it comes
// soon, for the next node may take it.
const (
	firstPause   = 10 * time.Second
	longestPause = 6 * time.Minute
	shortPause   = time.Second
)

func pause(failures int) time.Duration {
	if failures > 6 {
		return longestPause
	}
	return min(firstPause<<(failures-1), longestPause)
}

// due reports whether a pod's place is free for another one, and sees to it that
// the question is asked again in time. Until then a failed pod stays, so that its
// author can look at it.
func (p *planner) due(pod Pod) bool {
	var wait time.Duration
	switch pod.State {
	case Failed:
		wait = pause(pod.Attempt + 1)
	case Disrupted:
		wait = shortPause
	default:
		return false
	}
	left := pod.Ended.Add(wait).Sub(p.now)
	p.again(left)
	return left <= 0
}
