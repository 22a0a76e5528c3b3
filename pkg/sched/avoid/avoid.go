// Package avoid remembers which nodes refused what was decided for an owner's
// pods, so that the owner's next pods go elsewhere for a while.
//
// It knows owners, nodes and how long; it refuses to know of pods, and to forget
// before its time: without it a ReplicaSet whose pods a node refuses, though its
// records say that they fit, would make and lose pods as fast as it can.
package avoid

import (
	"sync"
	"time"
)

// Env is what a List needs of the world. After calls back from a goroutine of
// its own, as time.AfterFunc does. Over is told of a node that an owner's pods
// may go to again; it may call the list.
type Env struct {
	After func(time.Duration, func())
	Over  func(node string)
}

// Backoff is how long an owner's pods stay away from a node after it refused
// one: First, then twice as long each time, and Most at most. That a node
// refused is forgotten when, after its back-off, it has not done so again for
// Most. Zeros are 10 s and 5 min, as of a container that keeps ending.
type Backoff struct{ First, Most time.Duration }

// List is which owners' pods stay away from which nodes. Its methods may be called
// from any goroutine; each costs O(1).
type List struct {
	env     Env
	backoff Backoff

	mu      sync.RWMutex
	entries map[pair]*entry
}

// pair is an owner, by UID, and a node, by name.
type pair struct{ owner, node string }

type entry struct {
	times int // how often the node refused
	over  bool
}

// New returns a list with nothing on it.
func New(env Env, b Backoff) *List {
	if b.First <= 0 {
		b.First = 10 * time.Second
	}
	if b.Most <= 0 {
		b.Most = 5 * time.Minute
	}
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
	l.env.After(l.delay(e.times), func() { l.allow(p, e) })
}

// Avoids reports whether an owner's pods stay away from a node now.
func (l *List) Avoids(owner, node string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e := l.entries[pair{owner, node}]
	return e != nil && !e.over
}

// delay returns how long the n-th refusal counts, n ≥ 1.
func (l *List) delay(n int) time.Duration {
	d := l.backoff.First
	for range n - 1 {
		if d *= 2; d >= l.backoff.Most {
			return l.backoff.Most
		}
	}
	return min(d, l.backoff.Most)
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
