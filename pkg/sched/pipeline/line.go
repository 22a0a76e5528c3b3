package pipeline

import (
	"sync"

	"github.com/numalet/numalet/pkg/sched"
)

// line is where decisions wait for binders, first in, first out. Once it is full it
// takes none until half of it has gone, so that the tiers work in strides. A channel
// took one for each that went: each bind that ended woke the committer, and that a
// proposer, for one pod, and to wake them cost more than what they did.
type line struct {
	mu      sync.Mutex
	some    sync.Cond // a decision waits, or none comes any more
	half    sync.Cond // half is free
	ring    []sched.Decision
	first   int // the place of the one that waits longest
	waiting int
	closed  bool
}

func newLine(size int) *line {
	l := &line{ring: make([]sched.Decision, size)}
	l.some.L, l.half.L = &l.mu, &l.mu
	return l
}

// put has a decision wait. Only one goroutine may call it at a time.
func (l *line) put(d sched.Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == len(l.ring) {
		for l.waiting > len(l.ring)/2 {
			l.half.Wait()
		}
	}
	l.ring[(l.first+l.waiting)%len(l.ring)] = d
	l.waiting++
	l.some.Signal()
}

// take waits for a decision; there is none any more once the line is closed and
// empty.
func (l *line) take() (d sched.Decision, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.waiting == 0 && !l.closed {
		l.some.Wait()
	}
	if l.waiting == 0 {
		return d, false
	}
	d, l.ring[l.first] = l.ring[l.first], d
	l.first = (l.first + 1) % len(l.ring)
	if l.waiting--; l.waiting == len(l.ring)/2 {
		l.half.Signal()
	}
	return d, true
}

// close says that no more decisions come.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.some.Broadcast()
}
