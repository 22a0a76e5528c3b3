package podwriter

import (
	"context"
	"sync"
	"time"
)

// quietTime is how long renew waits after a change of nodes before it makes new explanations. Often
// several nodes change at the same time, and a change is announced shortly before the state has it.
const quietTime = time.Second

// outdated is a set of rules about nodes (sched.Pod.NodeRules). The explanations for pods with
// these rules are outdated. Any goroutine may call its methods.
type outdated struct {
	mu      sync.Mutex
	rules   map[string]bool
	arrived chan struct{}
}

func newOutdated() *outdated {
	return &outdated{rules: map[string]bool{}, arrived: make(chan struct{}, 1)}
}

// add adds rules. Its time does not depend on the number of pods that have these rules.
func (o *outdated) add(rules string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rules[rules] = true
	signal(o.arrived)
}

// take empties the set, and returns the rules that were in it.
func (o *outdated) take() map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.rules
	o.rules = map[string]bool{}
	return all
}

// Outdated records that the explanations for pods with certain rules (sched.Pod.NodeRules) are
// outdated, because other nodes refuse these pods than before, or because nodes refuse them for
// other reasons. Each pod whose last report was an explanation is explained again. A new
// explanation that equals the old one is not written.
//
// The queue does not try these pods again for this purpose. No node fits them that did not fit them
// before, and each event would take time proportional to the number of pods.
func (r *Reporter) Outdated(rules string) { r.outdated.add(rules) }

// renew replaces outdated explanations until ctx ends. Each round visits all explained pods, so it
// is followed by a pause of shareFor, the time for which pods of one kind share an explanation.
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

// renew queues the explained failures of all pods with these rules again. They get an explanation
// that is not older than now. The pods of a gang still share one attempt.
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

// signal sends a signal on a channel, unless one is already waiting there.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
