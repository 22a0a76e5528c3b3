package schedtest

import (
	"context"
	"errors"
	"sync"

	"github.com/numalet/numalet/pkg/sched"
)

// ErrDrained ends a cycle: every pod has its place, or none suits it.
var ErrDrained = errors.New("no pod is pending")

// Queue is pending pods in the order in which they came. A pod is out from Next
// on until Done, Requeue or Park. When none is pending and none is out, Next
// returns ErrDrained.
type Queue struct {
	gains func() uint64 // of the newest view

	mu struct {
		sync.Mutex
		pending []*sched.Pod
		parked  map[*sched.Pod]uint64
		out     int
	}
	changed sync.Cond
}

// NewQueue returns a queue of pods.
func NewQueue(pods []*sched.Pod, gains func() uint64) *Queue {
	q := &Queue{gains: gains}
	q.mu.pending, q.mu.parked = pods, map[*sched.Pod]uint64{}
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

// Park takes a pod back, to be tried again when gains have grown.
func (q *Queue) Park(pod *sched.Pod, gains uint64) { q.back(func() { q.mu.parked[pod] = gains }) }

// Parked returns the pods that nothing suits.
func (q *Queue) Parked() []*sched.Pod {
	q.mu.Lock()
	defer q.mu.Unlock()
	var pods []*sched.Pod
	for pod := range q.mu.parked {
		pods = append(pods, pod)
	}
	return pods
}

// back counts a pod as no longer out, and wakes those that have hope again.
func (q *Queue) back(enter func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	enter()
	q.mu.out--
	for pod, gains := range q.mu.parked {
		if q.gains() > gains {
			delete(q.mu.parked, pod)
			q.mu.pending = append(q.mu.pending, pod)
		}
	}
	q.changed.Broadcast()
}
