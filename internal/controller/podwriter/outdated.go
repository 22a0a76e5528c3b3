package podwriter

import (
	"context"
	"sync"
	"time"
)

// quietTime is how long to wait after a change of nodes before new explanations are made. Often
// several nodes change together, and a change is announced before the state has it.
const quietTime = time.Second

// outdated is a set of rules about nodes (sched.Pod.NodeRules). The explanations of pods with these
// rules are outdated. Its methods may be called from any goroutine.
type outdated struct {
	mu      sync.Mutex
	rules   map[string]bool
	arrived chan struct{}
}

func newOutdated() *outdated {
	return &outdated{rules: map[string]bool{}, arrived: make(chan struct{}, 1)}
}

// add adds rules. It takes O(1) time, however many pods have them.
func (o *outdated) add(rules string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rules[rules] = true
	signal(o.arrived)
}

// take removes and returns all rules.
func (o *outdated) take() map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.rules
	o.rules = map[string]bool{}
	return all
}

// Outdated records that the explanation of pods with certain rules (sched.Pod.NodeRules) is
// outdated: other nodes refuse them than before, or for other reasons. A pod whose last report was
// an explanation gets a new one, unless it is the same.
//
// The queue does not retry these pods, because no node fits them now that did not before. A retry
// only for the explanation was rejected: each event would cost O(pods).
func (r *Reporter) Outdated(rules string) { r.outdated.add(rules) }

// renew replaces outdated explanations until ctx ends. It visits all pods, so after each visit it
// pauses for shareFor, the time for which pods of one kind share an explanation.
func (r *Reporter) renew(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.outdated.arrived:
		}
		pause(ctx, quietTime)
		r.failures.renew(r.outdated.take(), time.Now())
		pause(ctx, shareFor)
	}
}

// renew adds the explained failures of all pods with these rules again. They are explained from the
// nodes as of now or later. The pods of a gang share an attempt, as before.
func (q *failureQueue) renew(rules map[string]bool, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	attempts := map[*attempt]*attempt{}
	for uid, f := range q.explained {
		if q.waiting.has(uid) || !rules[f.pod.NodeRules] {
			continue
		}
		if attempts[f.attempt] == nil {
			attempts[f.attempt] = &attempt{pod: f.attempt.pod, since: now}
		}
		f.message, f.attempt, f.tries, f.added = "", attempts[f.attempt], 0, now
		q.outdated.add(f)
	}
	signal(q.arrived)
}

// signal wakes the receiver of a channel with room for one signal.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
