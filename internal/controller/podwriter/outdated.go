package podwriter

import (
	"context"
	"sync"
	"time"
)

// settle is how long after a change of nodes explanations are made anew: often several nodes
// change together, and the change is announced before the state has it.
const settle = time.Second

// outdated is the rules about nodes (sched.Pod.NodeRules) whose explanations are outdated. Its
// methods may be called from any goroutine.
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

// Outdated records that other nodes than before refuse the pods with some rules
// (sched.Pod.NodeRules), or for other reasons. Pods whose last report was an explanation get a
// new one, unless it is the same.
//
// The queue does not retry these pods: no node fits them now that did not before. To retry
// them only for the explanation was rejected, because each event would cost O(pods).
func (r *Reporter) Outdated(rules string) { r.outdated.add(rules) }

// renew makes outdated explanations anew until ctx ends. Between two times it rests as long
// as alike pods share one explanation, because it visits all pods.
func (r *Reporter) renew(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.outdated.arrived:
		}
		pause(ctx, settle)
		r.failures.renew(r.outdated.take(), time.Now())
		pause(ctx, shareFor)
	}
}

// renew adds the explained failures of all pods with these rules anew, to be explained from
// the nodes as of now or later. The pods of a gang share an attempt, as before.
func (q *failureQueue) renew(rules map[string]bool, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	attempts := map[*attempt]*attempt{}
	for uid, f := range q.explained {
		if _, waits := q.waiting.failures[uid]; waits || !rules[f.pod.NodeRules] {
			continue
		}
		if attempts[f.attempt] == nil {
			attempts[f.attempt] = &attempt{pod: f.attempt.pod, since: now}
		}
		f.message, f.attempt = "", attempts[f.attempt]
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
