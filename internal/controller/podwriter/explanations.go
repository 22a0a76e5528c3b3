package podwriter

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// shareFor is how long at most an explanation is used for pods of the same kind. The nodes may
// change meanwhile, but a new explanation would visit all of them.
const shareFor = 10 * time.Second

// explanations are the newest explanations, which pods of the same kind share. Only one goroutine
// may use them.
type explanations struct {
	byKind map[string]string
	began  time.Time // when byKind was empty last
}

// of returns why no node suits the pod of a failed attempt, or why too few nodes suit its gang. It
// calls explain unless a recent explanation of a pod of the same kind is new enough for the
// attempt. With the kind "" only the pods of the attempt share the explanation.
func (e *explanations) of(a *attempt, kind string, explain func(*sched.Pod) string) string {
	if kind == "" || a.why != "" {
		return a.explain(explain)
	}
	if time.Since(e.began) >= shareFor || e.began.Before(a.since) {
		e.byKind, e.began = map[string]string{}, time.Now()
	}
	shared, ok := e.byKind[kind]
	if !ok {
		shared = a.explain(explain)
		e.byKind[kind] = shared
	}
	a.why = shared
	return shared
}
