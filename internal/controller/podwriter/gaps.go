package podwriter

import (
	"sync"
	"time"
)

// A report does not wait for a gap (see the type `gaps`) if at least `crowded` Bindings are in
// flight. So many Bindings delay each other anyway, and one more request adds only a small part to
// this delay.
const crowded = 16

// gaps knows whether Bindings are in flight. A time without Bindings in flight is a gap. A report
// about a waiting pod delays no Binding if it is written in a gap. Any goroutine may call its
// methods.
type gaps struct {
	mu       sync.Mutex
	inFlight int
	next     chan struct{} // closed when no Binding is in flight
}

func newGaps() *gaps {
	g := &gaps{next: make(chan struct{})}
	close(g.next)
	return g
}

// begin records that a Binding is in flight. The Binding counts as in flight until the returned
// function `end` is called. Later calls of `end` have no effect.
func (g *gaps) begin() (end func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inFlight++; g.inFlight == 1 {
		g.next = make(chan struct{})
	}
	return sync.OnceFunc(g.end)
}

func (g *gaps) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inFlight--; g.inFlight == 0 {
		close(g.next)
	}
}

// wait waits for the next gap, but for at most idleGap. If so many Bindings are in flight that a gap
// is unlikely, it returns at once.
func (g *gaps) wait() {
	g.mu.Lock()
	next, many := g.next, g.inFlight >= crowded
	g.mu.Unlock()
	if many {
		return
	}
	select {
	case <-next:
	case <-time.After(idleGap):
	}
}
