package pipeline

import "sync/atomic"

// Counters counts what a committer has done.
type Counters struct {
	Commits       uint64 // pods placed on a node
	Hits          uint64 // listed nodes that had not changed when the committer read the list; not counted for gangs
	Passed        uint64 // listed nodes that were checked again and still fitted; a node is checked again if it has changed, or if the pod's fit depends on other nodes (sched.Pod.Across)
	Failed        uint64 // listed nodes that were checked again and no longer fitted, or that no longer existed
	Requeues      uint64 // pods returned to the queue because no listed node could be used any more, and gangs returned because not all of their pods were placed
	Unschedulable uint64 // pods returned to the queue because no node fitted, or because they had to wait (sched.Pod.Wait)
	AlreadyPlaced uint64 // lists whose pod was already assigned to a node
	Undone        uint64 // decisions that were undone because the pod could not be bound
	// Retracted counts decisions that were undone before they were passed to a binder, for
	// example because too few pods of the gang fitted. Commits includes these decisions.
	Retracted uint64
	Index     [Indexes]uint64 // element i counts the placed pods whose node had the index i in the pod's list; the last element also counts the pods whose node had a greater index
}

// Indexes is the number of elements of Counters.Index.
const Indexes = 8

// counts are the Counters of a running committer.
type counts struct {
	commits, hits, passed, failed, requeues, unschedulable, alreadyPlaced, undone, retracted atomic.Uint64
	indexes                                                                                  [Indexes]atomic.Uint64
}

func (c *counts) index(i int) { c.indexes[min(i, Indexes-1)].Add(1) }

// Counters returns the current values of the committer's counters. Any goroutine may call
// it.
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
