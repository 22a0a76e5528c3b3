package podwriter

import (
	"context"
	"sync"
	"time"
)

// quietTime is how long the method `renew` waits after a change of nodes before it makes new
// explanations. It waits because often several nodes change at the same time. Also, the
// explanations are made from the controller's state of the nodes, and Outdated is called shortly
// before this state contains the change.
const quietTime = time.Second

// outdated is a set of values of sched.Pod.NodeRules. Such a value is a string that stands for a
// pod's rules about nodes: its node selector, required node affinity and tolerations. The
// explanations of why no node suits pods with these rules are outdated. Any goroutine may call the
// methods of outdated.
type outdated struct {
	mu      sync.Mutex
	rules   map[string]bool
	arrived chan struct{}
}

func newOutdated() *outdated {
	return &outdated{rules: map[string]bool{}, arrived: make(chan struct{}, 1)}
}

// add adds rules to the set. The time that it takes does not depend on the number of pods that have
// these rules.
func (o *outdated) add(rules string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rules[rules] = true
	signal(o.arrived)
}

// take empties the set, and returns the rules that were in the set.
func (o *outdated) take() map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.rules
	o.rules = map[string]bool{}
	return all
}

// Outdated records that the explanations for pods with certain rules (sched.Pod.NodeRules) are
// outdated. A change of a node makes explanations outdated if it changes which nodes do not suit
// the pods, or why. The Reporter then renews the explanation of each of these pods whose last
// report was an explanation. If the new explanation equals the old one, the pod's condition is not
// written again.
//
// The scheduling queue does not try these pods again just to get a new explanation, because to try
// all of them at each change of a node would take time proportional to their number. The queue
// itself finds the pods that may fit after a change.
func (r *Reporter) Outdated(rules string) { r.outdated.add(rules) }

// renew replaces outdated explanations until ctx is done. A round takes long if many pods wait,
// because it visits all pods whose last report was an explanation. So after each round, renew
// pauses for shareFor. An explanation can be out of date for this time anyway, because pods of one
// kind share it for so long.
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

// renew puts failures that were already reported into the queue again, so that they are reported
// with new explanations. It does so for each pod that has one of the given rules about nodes, and
// whose last report was an explanation. It leaves out a pod if the queue already has a newer
// failure of this pod. The new explanations are made at the time given as `now`, or later. The pods
// of a gang still share one attempt.
func (q *failureQueue) renew(rules map[string]bool, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	attempts := map[*attempt]*attempt{}
	for uid, f := range q.explained {
		if q.has(uid) || !rules[f.pod.NodeRules] {
			continue
		}
		if attempts[f.attempt] == nil {
			attempts[f.attempt] = &attempt{pod: f.attempt.pod, since: now}
		}
		f.message, f.attempt, f.tries, f.first = "", attempts[f.attempt], 0, time.Time{}
		q.outdated.add(f)
	}
	signal(q.arrived)
}

// signal sends a signal on a channel. It does nothing if the channel is full, because then a
// signal is already waiting.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
