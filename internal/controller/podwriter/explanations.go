package podwriter

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// shareFor is how long pods of the same kind share an explanation. The nodes may have changed
// meanwhile, but a new explanation may have to visit all nodes.
const shareFor = 10 * time.Second

// explanations are the newest explanations, by the kind of the pods that share them. Only one
// goroutine may use them.
type explanations struct {
	byKind map[string]string
	began  time.Time // when byKind was last emptied
}

// of returns why no node suits the pod of a failed attempt, or why too few nodes suit its gang. If
// there is a recent explanation for a pod of the same kind, it returns that one. Otherwise it calls
// explain. Pods with the kind "" share an explanation only with the other pods of their attempt.
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
