package schedtest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/numalet/numalet/pkg/sched"
)

// ErrDrained ends a cycle: every pod has its place, or none suits it.
var ErrDrained = errors.New("no pod is pending")

// Queue is pending pods in the order in which they came. A pod is out from Next
// on until Done, Requeue or MarkUnschedulable. When none is pending and none is out, Next
// returns ErrDrained.
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

// Done says that a pod is bound.
func (q *Queue) Done() { q.back(func() {}) }

// Requeue takes a pod back, to be tried again.
func (q *Queue) Requeue(pod *sched.Pod) {
	q.back(func() { q.mu.pending = append(q.mu.pending, pod) })
}

// MarkUnschedulable takes a pod back, to be tried again when gains have grown.
func (q *Queue) MarkUnschedulable(pod *sched.Pod, gains uint64) {
	q.back(func() {
		if gains < q.mu.seen {
			q.mu.pending = append(q.mu.pending, pod)
		} else {
			q.mu.unschedulable = append(q.mu.unschedulable, pod)
		}
	})
}

// Unschedulable returns the pods that nothing suits.
func (q *Queue) Unschedulable() []*sched.Pod {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.mu.unschedulable)
}

// back counts a pod as no longer out, and wakes those that a change may help.
// O(1) where nothing has become free.
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
