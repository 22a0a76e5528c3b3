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

// known returns the explanation of a failed attempt if there is one: why no node suits the pod, or
// why too few nodes suit its gang (pods that are placed all together or not at all). The
// explanation was made for the same attempt, or a short time ago for a pod of the same kind. Pods
// with the kind "" share an explanation only with the other pods of the same attempt.
func (e *explanations) known(a *attempt, kind string) (why string, ok bool) {
	if a.why == "" && kind != "" && !e.stale(a) {
		a.why = e.byKind[kind]
	}
	return a.why, a.why != ""
}

// find calls the function `explain` for an attempt whose explanation is not known, and returns the
// explanation.
func (e *explanations) find(a *attempt, kind string, explain func(*sched.Pod) string) string {
	if e.stale(a) {
		e.byKind, e.began = map[string]string{}, time.Now()
	}
	a.why = explain(a.pod)
	if kind != "" {
		e.byKind[kind] = a.why
	}
	return a.why
}

// stale reports whether the explanations by kind are too old for an attempt.
func (e *explanations) stale(a *attempt) bool {
	return time.Since(e.began) >= shareFor || e.began.Before(a.since)
}
