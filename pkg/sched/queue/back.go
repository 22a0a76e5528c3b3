package queue

import (
	"slices"

	"github.com/numalet/numalet/pkg/sched"
)

// Requeue takes back a pod whose nodes went to others, or that could not be
// bound: it is tried again after its back-off, which counts from the last time
// that no node suited it.
func (q *Queue) Requeue(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it := q.back(pod); it != nil {
		it.lost++
		it.notBefore = q.env.Now().Add(q.options.Backoff.Delay(it.lost))
		q.delay(it)
	}
}

// Park takes back a pod that no node suited when so much had been given back. It
// waits for a change that helps, unless one happened meanwhile; one that has to wait
// whatever nodes have (sched.Pod.Wait) keeps nobody behind it from its turn.
func (q *Queue) Park(pod *sched.Pod, gains uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.back(pod)
	if it == nil {
		return
	}
	it.lost, it.tries = 0, it.tries+1
	it.notBefore = q.env.Now().Add(q.options.Backoff.Delay(it.tries))
	if it.barred = it.Pod.Waits().Refuses(); !it.barred && it.blocked.IsZero() {
		it.blocked = q.env.Now()
	}
	q.enter(it, Parked)
	if it.Pod != pod || q.env.FreedSeq() > gains || (pod.Across || pod.Wait != nil) && it.stirs != q.mu.stirs {
		q.hope(it)
	}
}

// Wake tries those parked pods again that a change may help, and those that an
// earlier one might have. It is to be called after the change has counted as a
// gain.
func (q *Queue) Wake(helps func(*sched.Pod) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range q.mu.kinds {
		k.vain = 0
		parked := slices.AppendSeq(slices.Collect(k.blocked.all()), k.barred.all())
		for _, it := range parked {
			if helps(it.Pod) && !(it.barred && it.Pod.Waits().Refuses()) {
				q.hope(it)
			}
		}
	}
	q.changed.Broadcast()
}

// Stir tries those parked pods again whose fit depends on more than what nodes
// have free (sched.Pod.Across), for something of that has changed. Such a pod that
// is out is tried again too if it is to be parked.
func (q *Queue) Stir() { q.stir(func(pod *sched.Pod) bool { return pod.Across }) }

// Ease tries those parked pods of a tenant again that need not wait any more
// (sched.Pod.Wait). One that is out is tried again too if it is to be parked.
func (q *Queue) Ease(tenant string) {
	q.stir(func(pod *sched.Pod) bool { return pod.Wait != nil && pod.Tenant == tenant })
}

func (q *Queue) stir(helps func(*sched.Pod) bool) {
	q.mu.Lock()
	q.mu.stirs++
	q.mu.Unlock()
	q.Wake(helps)
}

// back takes out the item of a pod that comes back, and returns it, or nil. Others
// of its type may go on. It needs q.mu.
func (q *Queue) back(pod *sched.Pod) *item {
	it, ok := q.mu.items[pod.UID]
	if !ok || it.state != Out {
		return nil
	}
	q.leave(it)
	it.kind.vain++
	q.changed.Broadcast()
	return it
}

// hope lets Next take a parked item, for a change may help it: at once where it is
// the one that the others wait for, else after its back-off, or before that if there
// is nothing else to do. It needs q.mu.
func (q *Queue) hope(it *item) {
	if q.options.Strict && it == it.kind.blocked.first() {
		it.hopes = true
		q.changed.Signal()
		return
	}
	q.leave(it)
	q.delay(it)
	if it.state == Delayed {
		it.kind.eager.insert(it)
		q.changed.Signal()
	}
}

// delay makes an item ready when its back-off is over. It needs q.mu.
func (q *Queue) delay(it *item) {
	if it.notBefore.After(q.env.Now()) {
		q.enter(it, Delayed)
		q.readyAt(it)
		return
	}
	q.enter(it, Ready)
}

// readyAt makes an item ready when its time has come, unless it has left its state
// by then. It needs q.mu.
func (q *Queue) readyAt(it *item) {
	state, turn := it.state, it.notBefore
	q.env.After(turn.Sub(q.env.Now()), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if it.state == state && it.notBefore.Equal(turn) {
			q.leave(it)
			q.enter(it, Ready)
			q.changed.Broadcast()
		}
	})
}
