package virtual

import (
	"container/heap"
	"math"
	"time"
)

// clock is a virtual clock: it jumps from one event to the next.
type clock struct {
	now    time.Duration
	events events
	count  int
}

// event is a planned call of the function `do` at the time in the field `at`. Events of the
// same time run in the order in which they were planned.
type event struct {
	at    time.Duration
	order int
	do    func()
}

// The method `after` plans a call of the function given as `do`. The call is due when the duration
// d has passed.
func (c *clock) after(d time.Duration, do func()) {
	c.count++
	heap.Push(&c.events, event{c.now + d, c.count, do})
}

// next returns the time of the next event, or the largest possible duration if there is none.
func (c *clock) next() time.Duration {
	if len(c.events) == 0 {
		return math.MaxInt64
	}
	return c.events[0].at
}

// step runs the next event. It returns false if there is none.
func (c *clock) step() bool {
	if len(c.events) == 0 {
		return false
	}
	e := heap.Pop(&c.events).(event)
	c.now = e.at
	e.do()
	return true
}

// events implements heap.Interface, ordered by time.
type events []event

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events) Push(x any)   { *h = append(*h, x.(event)) }
func (h *events) Pop() any {
	n := len(*h) - 1
	last := (*h)[n]
	(*h)[n] = event{}
	*h = (*h)[:n]
	return last
}
