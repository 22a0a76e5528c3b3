package podwriter

import "container/list"

// line is a queue of failures with at most one failure for each pod. The failures are in the order
// in which the pods were first added. A pod that was removed and is added again goes to the end.
type line struct {
	failures map[string]*list.Element // by UID of the pod
	order    *list.List               // its elements are of type failure
}

func newLine() line { return line{map[string]*list.Element{}, list.New()} }

// add adds a failure to the end of the queue. If the queue already has a failure of the same pod,
// the new failure takes the place of the old one.
func (l *line) add(f failure) {
	if e, ok := l.failures[f.pod.UID]; ok {
		e.Value = f
		return
	}
	l.failures[f.pod.UID] = l.order.PushBack(f)
}

func (l *line) has(uid string) bool {
	_, ok := l.failures[uid]
	return ok
}

// get returns the failure of a pod. It returns false if the queue has none.
func (l *line) get(uid string) (failure, bool) {
	e, ok := l.failures[uid]
	if !ok {
		return failure{}, false
	}
	return e.Value.(failure), true
}

func (l *line) remove(uid string) {
	if e, ok := l.failures[uid]; ok {
		l.order.Remove(e)
		delete(l.failures, uid)
	}
}

// pop removes the first failure from the queue and returns it. It returns false if the queue is
// empty.
func (l *line) pop() (failure, bool) {
	first := l.order.Front()
	if first == nil {
		return failure{}, false
	}
	f := first.Value.(failure)
	l.remove(f.pod.UID)
	return f, true
}
