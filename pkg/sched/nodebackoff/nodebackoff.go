// Package nodebackoff keeps the pods of one owner, such as a ReplicaSet, away from a node whose
// agent rejected one of them. The time for which they avoid the node doubles with each rejection.
//
// Without this back-off, a ReplicaSet could create and lose pods as fast as it can: this would
// happen if its pods fit the scheduler's record of a node, but the node rejects them. The package
// knows owners and nodes, but no pods.
package nodebackoff

import (
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Env has the functions that a List calls. After must call the given function after the given time,
// in a separate goroutine, as time.AfterFunc does. Over gets the name of a node whose back-off for
// an owner has ended. Over may call methods of the List.
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
	times int // number of rejections by the node
	over  bool
}

// New returns an empty list. b is how long an owner's pods avoid a node after a rejection. Fields
// of b that are not positive get the defaults, 10 s and 5 min, as for the kubelet's
// CrashLoopBackOff. The number of rejections is reset to 0 if the node rejects no pod of the owner
// for b.Most after a back-off has ended.
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
