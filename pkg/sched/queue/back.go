package queue

import "github.com/numalet/numalet/pkg/sched"

// Requeue takes back a pod whose nodes went to others, or that could not be
// bound: it is tried again after its back-off, which counts from the last time
// that no node suited it.
func (q *Queue) Requeue(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it := q.back(pod); it != nil {
		it.lost++
		it.notBefore = q.env.Now().Add(q.backoff.Delay(it.lost))
		q.delay(it)
	}
}

// Park takes back a pod that no node suited when so much had been given back. It
// waits for a change that helps, unless one happened meanwhile.
func (q *Queue) Park(pod *sched.Pod, gains uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.back(pod)
	if it == nil {
		return
	}
	it.lost, it.tries = 0, it.tries+1
	it.notBefore = q.env.Now().Add(q.backoff.Delay(it.tries))
	switch {
	case it.Pod != pod || q.env.Gains() > gains || pod.Across && it.stirs != q.mu.stirs:
		q.hope(it)
	default:
		q.enter(it, Parked)
	}
}

// Wake tries those parked pods again that a change may help, and those that an
// earlier one might have. It is to be called after the change has counted as a
// gain.
func (q *Queue) Wake(helps func(*sched.Pod) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for it := range q.mu.parked {
		if helps(it.Pod) {
			q.leave(it)
			q.hope(it)
		}
	}
	q.mu.vain = 0
	q.changed.Broadcast()
}

// Stir tries those parked pods again whose fit depends on more than what nodes
// have free (sched.Pod.Across), for something of that has changed. Such a pod that
// is out is tried again too if it is to be parked.
func (q *Queue) Stir() {
	q.mu.Lock()
	q.mu.stirs++
	q.mu.Unlock()
	q.Wake(func(pod *sched.Pod) bool { return pod.Across })
}

// back returns the item of a pod that comes back, or nil. It needs q.mu.
func (q *Queue) back(pod *sched.Pod) *item {
	it, ok := q.mu.items[pod.UID]
	if !ok || it.state != Out {
		return nil
	}
	q.mu.vain++
	return it
}

// hope is delay, for an item that a change may help: Next may take it before its
// time. It needs q.mu.
func (q *Queue) hope(it *item) {
	q.delay(it)
	if it.state == Delayed {
		q.push(&q.mu.eager, it)
	}
}

// delay makes an item ready when its back-off is over. It needs q.mu.
func (q *Queue) delay(it *item) {
	wait := it.notBefore.Sub(q.env.Now())
	if wait <= 0 {
		q.enter(it, Ready)
		return
	}
	q.enter(it, Delayed)
	turn := it.notBefore
	q.env.After(wait, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if it.state == Delayed && it.notBefore.Equal(turn) {
			q.leave(it)
			q.enter(it, Ready)
		}
	})
}
