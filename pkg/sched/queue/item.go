package queue

import (
	"cmp"
	"time"
)

// State is where a pending pod is.
type State uint8

const (
	none    State = iota
	Ready         // its turn comes
	Out           // it is being placed or bound
	Waiting       // it was to be bound, and one ahead of it is
	Delayed       // it backs off
	Parked        // it is blocked: it waits for a change that helps
	states
)

// String returns "ready", "out", "waiting", "delayed" or "parked".
func (s State) String() string {
	return [...]string{"none", "ready", "out", "waiting", "delayed", "parked"}[s]
}

// States returns all states in which a pod can be.
func States() []State { return []State{Ready, Out, Waiting, Delayed, Parked} }

// Depth counts pods by State.
type Depth [states]int

// Depth counts the pending pods.
func (q *Queue) Depth() Depth {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.count
}

// item is a pending pod in the queue.
type item struct {
	Entry
	kind      *kind
	share     *share
	lane      *lane // nil for none
	index     int   // there
	state     State
	permitted bool      // it may be bound
	hopes     bool      // it is parked, and a change may help
	barred    bool      // it is parked, and would be whatever nodes have
	yields    bool      // while it is blocked others pass
	tries     int       // how often nothing suited it, since it last changed
	lost      int       // how often it was tried in vain since the last of those
	stirs     uint64    // when it was taken out last
	since     time.Time // when it came
	blocked   time.Time // since when nothing has suited it; zero where something might
	notBefore time.Time // the end of its back-off, or of its wait
}

// before reports whether a's turn is before b's, both of one type.
func (a *item) before(b *item) bool {
	if c := cmp.Compare(b.Priority, a.Priority); c != 0 {
		return c < 0
	}
	if c := cmp.Compare(a.share.rank, b.share.rank); c != 0 {
		return c < 0
	}
	if c := a.Created.Compare(b.Created); c != 0 {
		return c < 0
	}
	return a.Pod.UID < b.Pod.UID
}

func (a *item) moved(to int) { a.index = to }

// able reports whether Next may take a pod as far as it is concerned itself.
func (a *item) able() bool {
	return a.state == Ready || a.state == Waiting || a.state == Parked && a.hopes
}
