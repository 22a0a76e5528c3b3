package podwriter

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// shareFor is for how long, at most, an explanation serves pods that are alike. The nodes may have changed
// meanwhile, but each explanation visits all of them.
const shareFor = 10 * time.Second

// explanations are the newest explanations, which alike pods share. They serve one goroutine.
type explanations struct {
	byKind map[string]string
	began  time.Time // when byKind was empty last
}

// of returns why no node suits the pod of a failed attempt, or too few suit its gang. It calls
// explain unless a pod of the same kind was explained lately, and not before the attempt
// requires; "" is no kind.
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
