// Package nodebackoff keeps the pods of one owner, such as a ReplicaSet, away from a node whose
// agent rejected one of them. The time for which these pods avoid the node doubles with each
// rejection.
//
// Without this back-off, a ReplicaSet could create pods in a fast endless loop. This would happen
// if the pods fit the scheduler's record of a node, but the node's agent rejects each of them. The
// package knows owners and nodes, but no pods.
package nodebackoff

import (
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Env has the functions that a List calls. The function After must call the given function after
// the given time, in a separate goroutine, as time.AfterFunc does. The List calls Over when the
// pods of an owner no longer avoid a node. Over may call methods of the List.
type Env struct {
	After func(time.Duration, func())
	Over  func(node string)
}

// List has the back-offs by owner and node. Its methods may be called from any goroutine. The time
// that a call takes does not depend on the number of back-offs.
type List struct {
	env     Env
	backoff sched.Backoff

	mu      sync.RWMutex
	entries map[pair]*entry
}

// pair is an owner, by UID, and a node, by name.
type pair struct{ owner, node string }

type entry struct {
	times int // how many rejections of the owner's pods count for the length of the back-off; after some time without a rejection, the count starts again at 1 (see New)
	over  bool
}

// New returns an empty list. b decides how long an owner's pods avoid a node: for b.First after the
// first rejection, then twice as long after each further one, but never longer than b.Most. The
// defaults are those of the kubelet's CrashLoopBackOff: 10 s if b.First is not positive, and 5 min
// if b.Most is not positive. If the node rejects no pod of the owner for the time b.Most after a
// back-off has ended, the next rejection counts as the first one.
func New(env Env, b sched.Backoff) *List {
	b = b.Or(sched.Backoff{First: 10 * time.Second, Most: 5 * time.Minute})
	return &List{env: env, backoff: b, entries: map[pair]*entry{}}
}

// Refused records that a node rejected a pod of an owner.
func (l *List) Refused(owner, node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := pair{owner, node}
	e := &entry{times: 1}
	if before := l.entries[p]; before != nil {
		e.times += before.times
	}
	l.entries[p] = e
	l.env.After(l.backoff.Delay(e.times), func() { l.allow(p, e) })
}

// Avoids reports whether an owner's pods avoid a node now.
func (l *List) Avoids(owner, node string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e := l.entries[pair{owner, node}]
	return e != nil && !e.over
}

// allow ends the back-off of entry e. If the node has rejected another pod of the owner meanwhile,
// a newer entry has replaced e, and the owner's pods still avoid the node.
func (l *List) allow(p pair, e *entry) {
	if !l.end(p, e) {
		return
	}
	l.env.After(l.backoff.Most, func() { l.forget(p, e) })
	l.env.Over(p.node)
}

func (l *List) end(p pair, e *entry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.over = true
	return l.entries[p] == e
}

func (l *List) forget(p pair, e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries[p] == e {
		delete(l.entries, p)
	}
}
