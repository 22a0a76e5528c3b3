package queue

import (
	"container/heap"
	"iter"
	"slices"
)

// order has pods of one type in their order: a heap of lanes, each a heap of the pods
// that a tenant has with one priority, whose first one is the lane's place among the
// others.
//
//	T4 ─┬─ bob, priority 0, score 0.4 ─ b1 b2 b3 …
//	    └─ ann, priority 0, score 7.8 ─ a1 a2 …
//
// So a score that changes moves its tenant's lanes, one for each priority, and not
// their pods: O(log lanes). insert, remove: O(log pods).
//
// One heap of all pods was rejected: a tenant with 100,000 of them would make each
// change of its score O(n). A sorted tree that counts would say a pod's place in
// O(log n), too, but that only people ask for, one pod at a time.
type order struct {
	lanes heapOf[*lane]
	of    map[laneKey]*lane
}

type laneKey struct {
	share    *share
	priority int32
}

// lane is never empty.
type lane struct {
	laneKey
	in    *order
	index int // there
	pods  heapOf[*item]
}

func (l *lane) before(m *lane) bool { return l.pods[0].before(m.pods[0]) }
func (l *lane) moved(to int)        { l.index = to }

// share is a tenant's part in one type.
type share struct {
	tenant string
	rank   float64
	pods   int     // pending, in whatever state
	lanes  []*lane // in whatever order
}

// rescore moves the lanes to where they belong by a new rank. All are taken out
// first: heap.Fix is for one element that is out of its place, not for several.
func (s *share) rescore(rank float64) {
	if rank == s.rank {
		return
	}
	for _, l := range s.lanes {
		heap.Remove(&l.in.lanes, l.index)
	}
	s.rank = rank
	for _, l := range s.lanes {
		heap.Push(&l.in.lanes, l)
	}
}

// first returns the pod that is before all others, or nil.
func (o *order) first() *item {
	if len(o.lanes) == 0 {
		return nil
	}
	return o.lanes[0].pods[0]
}

// all yields all pods, in no order. The order must not change meanwhile.
func (o *order) all() iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for _, l := range o.lanes {
			for _, it := range l.pods {
				if !yield(it) {
					return
				}
			}
		}
	}
}

func (o *order) insert(it *item) {
	key := laneKey{it.share, it.Priority}
	l, ok := o.of[key]
	if !ok {
		o.open(key, it)
		return
	}
	it.lane = l
	heap.Push(&l.pods, it)
	if it.index == 0 {
		heap.Fix(&o.lanes, l.index)
	}
}

// open makes a lane for its first pod.
func (o *order) open(key laneKey, it *item) {
	l := &lane{laneKey: key, in: o, pods: heapOf[*item]{it}}
	it.lane, it.index = l, 0
	if o.of == nil {
		o.of = map[laneKey]*lane{}
	}
	o.of[key] = l
	heap.Push(&o.lanes, l)
	key.share.lanes = append(key.share.lanes, l)
}

func (o *order) remove(it *item) {
	l := it.lane
	it.lane = nil
	if len(l.pods) == 1 {
		o.close(l)
		return
	}
	heap.Remove(&l.pods, it.index)
	heap.Fix(&o.lanes, l.index)
}

func (o *order) close(l *lane) {
	heap.Remove(&o.lanes, l.index)
	delete(o.of, l.laneKey)
	i := slices.Index(l.share.lanes, l)
	l.share.lanes = slices.Delete(l.share.lanes, i, i+1)
}
