package podwriter

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// shareFor is how long pods of the same kind share an explanation of why no node suits them. A
// shared explanation may be a little out of date. But a new explanation takes long, because it may
// need a visit to all nodes.
const shareFor = 10 * time.Second

// explanations has the newest explanations of why no node suits a pod, by the kind
// (Dependencies.Kind) of the pods that share them. Only one goroutine may use it.
type explanations struct {
	byKind map[string]string
	began  time.Time // when byKind was last emptied
}

// The method `of` returns the explanation of a failed attempt: why no node suits the pod, or why
// too few nodes suit its gang (pods that are placed all together or not at all). If there is a
// recent explanation for a pod of the same kind, it returns this explanation. Otherwise it calls
// the function `explain` (a parameter). Pods with the kind "" share an explanation only with the
// other pods of the same attempt.
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
