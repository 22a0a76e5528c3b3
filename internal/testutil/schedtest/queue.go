package schedtest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/numalet/numalet/pkg/sched"
)

// ErrDrained is the error that Queue.Next returns when no pod is pending or in flight: each
// pod is placed, or fits on no node.
var ErrDrained = errors.New("no pod is pending")

// Queue is a FIFO queue of pending pods for tests of the scheduler. A pod that Next has returned
// is in flight until Done, Requeue or MarkUnschedulable is called for it. Next returns
// ErrDrained if no pod is pending or in flight.
type Queue struct {
	gains func() uint64 // returns how often resources have become free so far

	mu struct {
		sync.Mutex
		pending       []*sched.Pod
		unschedulable []*sched.Pod // pods that become pending again when resources have become free
		seen          uint64       // what the function `gains` returned when the queue last checked it
		out           int
	}
	changed sync.Cond
}

// NewQueue returns a queue of pods. The function `gains` must return a number that grows each time
// that resources become free.
func NewQueue(pods []*sched.Pod, gains func() uint64) *Queue {
	q := &Queue{gains: gains}
	q.mu.pending = pods
	q.changed.L = &q.mu
	return q
}

// Next returns the first pending pod. If no pod is pending but some are in flight, Next waits
// until a pod is pending or no pod is in flight.
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
func (q *Queue) Requeue(pod *sched.Pod, _ sched.Reason) {
	q.back(func() { q.mu.pending = append(q.mu.pending, pod) })
}

// MarkUnschedulable is called when a pod that was in flight fits on no node. The parameter `gains`
// is the number that the function given to NewQueue returned when the scheduler tried the pod.
// If this number has grown since then, resources have become free, and the pod becomes pending
// at once. Otherwise the queue notices that resources have become free only in the next call of
// Done, Requeue or MarkUnschedulable, and the pod becomes pending then.
func (q *Queue) MarkUnschedulable(pod *sched.Pod, gains uint64) {
	q.back(func() {
		if gains < q.mu.seen {
			q.mu.pending = append(q.mu.pending, pod)
		} else {
			q.mu.unschedulable = append(q.mu.unschedulable, pod)
		}
	})
}

// Unschedulable returns the pods for which MarkUnschedulable was called and that have not become
// pending again.
func (q *Queue) Unschedulable() []*sched.Pod {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.mu.unschedulable)
}

// back records that a pod is no longer in flight. It calls the function given as `enter`, which
// adds the pod to the queue again if it is not bound. If resources have become free since the last
// call of the method `back`, it first makes all unschedulable pods pending again.
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
