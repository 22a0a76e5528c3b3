// Package nodebackoff remembers which nodes refused what was decided for an owner's
// pods, so that the owner's next pods go elsewhere for a while.
//
// It knows owners, nodes and how long; it refuses to know of pods, and to forget
// before its time: without it a ReplicaSet whose pods a node refuses, though its
// records say that they fit, would make and lose pods as fast as it can.
package nodebackoff

import (
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Env is what a List needs of the world. After calls back from a goroutine of
// its own, as time.AfterFunc does. Over is told of a node that an owner's pods
// may go to again; it may call the list.
type Env struct {
	After func(time.Duration, func())
	Over  func(node string)
}

// List is which owners' pods stay away from which nodes. Its methods may be called
// from any goroutine; each costs O(1).
type List struct {
	env     Env
	backoff sched.Backoff

	mu      sync.RWMutex
	entries map[pair]*entry
}

// pair is an owner, by UID, and a node, by name.
type pair struct{ owner, node string }

type entry struct {
	times int // how often the node refused
	over  bool
}

// New returns a list with nothing on it. The back-off is how long an owner's pods
// stay away from a node after it refused one; that it did is forgotten when, after
// that, it has not done so again for Most. Zeros are 10 s and 5 min, as of a
// container that keeps ending.
func New(env Env, b sched.Backoff) *List {
	b = b.Or(sched.Backoff{First: 10 * time.Second, Most: 5 * time.Minute})
	return &List{env: env, backoff: b, entries: map[pair]*entry{}}
}

// Refused notes that a node refused a pod of an owner.
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

// Avoids reports whether an owner's pods stay away from a node now.
func (l *List) Avoids(owner, node string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e := l.entries[pair{owner, node}]
	return e != nil && !e.over
}

// allow ends an entry's back-off unless the node has refused again meanwhile.
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
