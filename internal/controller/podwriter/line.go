package podwriter

// line is a queue of failures with at most one failure for each pod. The failures are in the order
// in which the pods were first added.
type line struct {
	failures map[string]failure // by UID
	order    []string           // UIDs in order; some may no longer be in failures
}

func newLine() line { return line{failures: map[string]failure{}} }

// add adds a failure to the end of the queue. If the queue already has a failure of the same pod,
// the new failure takes its place. A pod that was removed a short time ago may get its old place
// back.
func (l *line) add(f failure) {
	if !l.has(f.pod.UID) {
		l.order = append(l.order, f.pod.UID)
	}
	l.failures[f.pod.UID] = f
}

func (l *line) has(uid string) bool {
	_, ok := l.failures[uid]
	return ok
}

func (l *line) remove(uid string) { delete(l.failures, uid) }

// pop removes the first failure from the queue and returns it. It returns false if the queue is
// empty.
func (l *line) pop() (f failure, ok bool) {
	for len(l.order) > 0 && !ok {
		uid := l.order[0]
		l.order = l.order[1:]
		f, ok = l.failures[uid]
		delete(l.failures, uid)
	}
	return f, ok
}
