package schedtest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/numalet/numalet/pkg/sched"
)

// ErrDrained is what Next returns when every pod is placed or fits on no node.
var ErrDrained = errors.New("no pod is pending")

// Queue is a FIFO queue of pending pods for tests of the scheduler. A pod is in flight from the
// call of Next that returns it until Done, Requeue or MarkUnschedulable is called for it. Next
// returns ErrDrained if no pod is pending or in flight.
type Queue struct {
	gains func() uint64 // how often resources have become free, up to now

	mu struct {
		sync.Mutex
		pending       []*sched.Pod
		unschedulable []*sched.Pod // pods that are retried when gains returns more than seen
		seen          uint64
		out           int
	}
	changed sync.Cond
}

// NewQueue returns a queue of pods. gains returns a number that grows each time that resources
// become free.
func NewQueue(pods []*sched.Pod, gains func() uint64) *Queue {
	q := &Queue{gains: gains}
	q.mu.pending = pods
	q.changed.L = &q.mu
	return q
}

// Next returns the first pending pod. If no pod is pending but some are in flight, it waits.
func (q *Queue) Next(context.Context) (*sched.Pod, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.mu.pending) == 0 {
		if q.mu.out == 0 {
			return nil, ErrDrained
		}
		q.changed.Wait()
	}
	pod := q.mu.pending[0]
	q.mu.pending = q.mu.pending[1:]
	q.mu.out++
	return pod, nil
}

// Done is called when a pod that was in flight is bound.
func (q *Queue) Done() { q.back(func() {}) }

// Requeue returns a pod that was in flight to the end of the queue.
func (q *Queue) Requeue(pod *sched.Pod) {
	q.back(func() { q.mu.pending = append(q.mu.pending, pod) })
}

// MarkUnschedulable returns a pod to the queue that fits on no node. gains is the number that
// NewQueue's gains had when the pod was tried. The pod becomes pending again when resources have
// become free since.
func (q *Queue) MarkUnschedulable(pod *sched.Pod, gains uint64) {
	q.back(func() {
		if gains < q.mu.seen {
			q.mu.pending = append(q.mu.pending, pod)
		} else {
			q.mu.unschedulable = append(q.mu.unschedulable, pod)
		}
	})
}

// Unschedulable returns the pods that fit on no node.
func (q *Queue) Unschedulable() []*sched.Pod {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.mu.unschedulable)
}

// back records that a pod is no longer in flight. If resources have become free since the last
// call, it makes all unschedulable pods pending again.
func (q *Queue) back(enter func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := q.gains(); now > q.mu.seen {
		q.mu.seen = now
		q.mu.pending = append(q.mu.pending, q.mu.unschedulable...)
		q.mu.unschedulable = nil
	}
	enter()
	q.mu.out--
	q.changed.Broadcast()
}
