package schedtest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/numalet/numalet/pkg/sched"
)

// ErrDrained is returned when each pod is placed or fits no node.
var ErrDrained = errors.New("no pod is pending")

// Queue is a FIFO queue of pending pods. A pod is in flight between Next and one of Done,
// Requeue and MarkUnschedulable. Next returns ErrDrained if no pod is pending or in flight.
type Queue struct {
	gains func() uint64 // of the newest view

	mu struct {
		sync.Mutex
		pending       []*sched.Pod
		unschedulable []*sched.Pod // not retried as long as gains are as they were seen last
		seen          uint64
		out           int
	}
	changed sync.Cond
}

// NewQueue returns a queue of pods.
func NewQueue(pods []*sched.Pod, gains func() uint64) *Queue {
	q := &Queue{gains: gains}
	q.mu.pending = pods
	q.changed.L = &q.mu
	return q
}

// Next returns the first pod.
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

// Done is called when a pod is bound.
func (q *Queue) Done() { q.back(func() {}) }

// Requeue returns a pod to the queue.
func (q *Queue) Requeue(pod *sched.Pod) {
	q.back(func() { q.mu.pending = append(q.mu.pending, pod) })
}

// MarkUnschedulable returns a pod to the queue, which is retried after resources became free.
func (q *Queue) MarkUnschedulable(pod *sched.Pod, gains uint64) {
	q.back(func() {
		if gains < q.mu.seen {
			q.mu.pending = append(q.mu.pending, pod)
		} else {
			q.mu.unschedulable = append(q.mu.unschedulable, pod)
		}
	})
}

// Unschedulable returns the pods that fit no node.
func (q *Queue) Unschedulable() []*sched.Pod {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.mu.unschedulable)
}

// back counts a pod as no longer in flight, and retries unschedulable pods if resources
// became free. O(1) otherwise.
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
