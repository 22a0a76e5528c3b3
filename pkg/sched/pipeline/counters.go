package pipeline

import "sync/atomic"

// Counters are what a committer has done.
type Counters struct {
	Commits       uint64 // pods placed
	Hits          uint64 // nodes of first lists that were unchanged: second list
	Passed        uint64 // changed nodes whose turn came and that still suited: fourth list
	Failed        uint64 // changed nodes whose turn came and that did not, or that were gone
	Requeues      uint64 // pods sent back to be tried again
	Unschedulable uint64 // pods sent back to wait for a change
	AlreadyPlaced uint64 // lists of pods that had their place already
	Undone        uint64 // decisions that could not be bound
	// Retracted are decisions for pods of gangs of which too few had a place. They
	// are among the Commits.
	Retracted uint64
	Index     [Indexes]uint64 // which place of its first list a pod got; the last counts all beyond
}

// Indexes is how many places of a first list are counted apart.
const Indexes = 8

// counts are Counters in the making.
type counts struct {
	commits, hits, passed, failed, requeues, unschedulable, alreadyPlaced, undone, retracted atomic.Uint64
	indexes                                                                                  [Indexes]atomic.Uint64
}

func (c *counts) index(i int) { c.indexes[min(i, Indexes-1)].Add(1) }

// Counters returns what was done so far. Any goroutine may ask.
func (c *Committer) Counters() Counters {
	n := &c.counts
	sum := Counters{
		Commits: n.commits.Load(), Hits: n.hits.Load(), Passed: n.passed.Load(), Failed: n.failed.Load(),
		Requeues: n.requeues.Load(), Unschedulable: n.unschedulable.Load(), AlreadyPlaced: n.alreadyPlaced.Load(), Undone: n.undone.Load(), Retracted: n.retracted.Load(),
	}
	for i := range sum.Index {
		sum.Index[i] = n.indexes[i].Load()
	}
	return sum
}
