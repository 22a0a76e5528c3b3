package pipeline

import (
	"sync"

	"github.com/numalet/numalet/pkg/sched"
)

// decisionQueue is the bounded FIFO between the committer and the binders. When the FIFO is full,
// the method `put` waits until half of it is free, so that the committer and the binders work in
// batches. An earlier version used a Go channel. Each finished bind then made room for one
// decision: the committer woke up, put one decision into the channel and took one list, so a
// proposer woke up and made one list. These wake-ups took more time than the work itself.
type decisionQueue struct {
	mu      sync.Mutex
	some    sync.Cond // signals that a decision was added, or that the queue was closed
	half    sync.Cond // signals that half of the ring is free
	ring    []sched.Decision
	first   int // index of the oldest decision
	waiting int
	closed  bool
}

func newDecisionQueue(size int) *decisionQueue {
	q := &decisionQueue{ring: make([]sched.Decision, size)}
	q.some.L, q.half.L = &q.mu, &q.mu
	return q
}

// put appends a decision. If the queue is full, it waits until half of the queue is free. Only one
// goroutine at a time may call it.
func (q *decisionQueue) put(decision sched.Decision) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == len(q.ring) {
		for q.waiting > len(q.ring)/2 {
			q.half.Wait()
		}
	}
	q.ring[(q.first+q.waiting)%len(q.ring)] = decision
	q.waiting++
	q.some.Signal()
}

// take removes and returns the oldest decision. If there is none, it waits for one. It returns
// false when the queue is closed and empty.
func (q *decisionQueue) take() (decision sched.Decision, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.waiting == 0 && !q.closed {
		q.some.Wait()
	}
	if q.waiting == 0 {
		return decision, false
	}
	decision, q.ring[q.first] = q.ring[q.first], decision
	q.first = (q.first + 1) % len(q.ring)
	if q.waiting--; q.waiting == len(q.ring)/2 {
		q.half.Signal()
	}
	return decision, true
}

// close closes the queue. After that, the method `take` still returns the remaining decisions, and
// then false. The method `put` must not be called any more.
func (q *decisionQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.some.Broadcast()
}
