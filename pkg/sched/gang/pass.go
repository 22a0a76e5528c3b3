package gang

import "github.com/numalet/numalet/pkg/sched"

// Requeue takes back a pod that is to be tried again, or all of a gang of which one
// could not be bound.
func (q *Queue) Requeue(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Queue.Requeue(q.standing(pod))
}

// Permit reports whether a pod, or all of a gang, may be placed now. A gang of which
// another pod came or went meanwhile may not, and is tried again.
func (q *Queue) Permit(pod *sched.Pod) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if newest := q.standing(pod); newest != pod && pod.Gang != nil {
		q.Queue.Requeue(newest)
		return false
	}
	return q.Queue.Permit(pod)
}

// Placed says that a pod has its place; of a gang, the first of those that start.
func (q *Queue) Placed(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Queue.Placed(q.standing(pod))
}
