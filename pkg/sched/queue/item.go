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
	Delayed       // it backs off
	Parked        // it waits for a change that helps
	states
)

// String returns "ready", "out", "delayed" or "parked".
func (s State) String() string { return [...]string{"none", "ready", "out", "delayed", "parked"}[s] }

// States returns all states in which a pod can be.
func States() []State { return []State{Ready, Out, Delayed, Parked} }

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
	state     State
	in        *turns // nil for none
	index     int    // there
	tries     int    // how often nothing suited it, since it last changed
	lost      int    // how often it was tried in vain since the last of those
	stirs     uint64 // when it was taken out last
	since     time.Time
	notBefore time.Time // the end of its back-off
}

// before reports whether a's turn is before b's.
func (a *item) before(b *item) bool {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created), cmp.Compare(a.Pod.UID, b.Pod.UID)) < 0
}

// turns is pods as a heap (container/heap).
type turns []*item

func (t turns) Len() int           { return len(t) }
func (t turns) Less(i, j int) bool { return t[i].before(t[j]) }

func (t turns) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}

func (t *turns) Push(x any) {
	it := x.(*item)
	it.index = len(*t)
	*t = append(*t, it)
}

func (t *turns) Pop() any {
	last := len(*t) - 1
	it := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return it
}
