package pipeline

import "sync/atomic"

// Counters counts what a committer has done.
type Counters struct {
	Commits       uint64 // pods placed
	Hits          uint64 // unchanged nodes of first lists (second list)
	Passed        uint64 // changed nodes that were checked and still fitted (fourth list)
	Failed        uint64 // changed nodes that were checked and did not fit, and nodes that were gone
	Requeues      uint64 // pods returned to the queue for a retry
	Unschedulable uint64 // pods returned to the queue until something changes
	AlreadyPlaced uint64 // lists of pods that were already assigned
	Undone        uint64 // decisions that could not be bound
	// Retracted counts decisions for pods of gangs that could not start because too few
	// pods fitted. They are included in Commits.
	Retracted uint64
	Index     [Indexes]uint64 // pods by the index of their node in the first list; the last counts all beyond
}

// Indexes is the number of elements of Counters.Index.
const Indexes = 8

// counts are the Counters of a running committer.
type counts struct {
	commits, hits, passed, failed, requeues, unschedulable, alreadyPlaced, undone, retracted atomic.Uint64
	indexes                                                                                  [Indexes]atomic.Uint64
}

func (c *counts) index(i int) { c.indexes[min(i, Indexes-1)].Add(1) }

// Counters returns the counters. Any goroutine may call it.
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
