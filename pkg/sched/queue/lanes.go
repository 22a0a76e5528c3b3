package queue

import (
	"container/heap"
	"slices"
)

// order sorts pods of one class. It is a heap of lanes, and a lane is a heap of the pods
// that one tenant has with one priority. A lane is ordered by its first pod.
//
//	T4 ─┬─ bob, priority 0, score 0.4 ─ b1 b2 b3 …
//	    └─ ann, priority 0, score 7.8 ─ a1 a2 …
//
// A score that changes moves the tenant's lanes, one for each priority, not its pods:
// O(log lanes). insert and remove cost O(log pods), first O(1).
//
// Two alternatives were rejected. With one heap of all pods, each change of the score of a tenant
// with 100,000 pods would cost O(n log n). An order-statistic tree would give a pod's position in
// O(log n), but only people need positions, of one pod at a time.
type order struct {
	lanes heapOf[*lane]
	of    map[laneKey]*lane
}

type laneKey struct {
	tenant   *tenant
	priority int32
}

// lane is never empty.
type lane struct {
	laneKey
	in    *order
	index int // in the heap of in
	pods  heapOf[*item]
}

func (l *lane) before(m *lane) bool { return l.pods[0].before(m.pods[0]) }
func (l *lane) moved(to int)        { l.index = to }

// tenant is what a tenant has in one class.
type tenant struct {
	name  string
	rank  float64 // Env.Rank; the smaller, the earlier
	pods  int     // pending, in any state
	lanes []*lane // unordered
}

// rescore sets the rank of a tenant. It removes all lanes first, because heap.Fix repairs
// a heap in which one element has changed, not several.
func (t *tenant) rescore(rank float64) {
	if rank == t.rank {
		return
	}
	for _, lane := range t.lanes {
		heap.Remove(&lane.in.lanes, lane.index)
	}
	t.rank = rank
	for _, lane := range t.lanes {
		heap.Push(&lane.in.lanes, lane)
	}
}

// first returns the pod that is before all others, or nil.
func (o *order) first() *item {
	if len(o.lanes) == 0 {
		return nil
	}
	return o.lanes[0].pods[0]
}

func (o *order) insert(queued *item) {
	key := laneKey{queued.tenant, queued.Priority}
	l, ok := o.of[key]
	if !ok {
		o.addLane(key, queued)
		return
	}
	queued.lane = l
	heap.Push(&l.pods, queued)
	if queued.index == 0 {
		heap.Fix(&o.lanes, l.index)
	}
}

// addLane adds a lane with its first pod.
func (o *order) addLane(key laneKey, queued *item) {
	l := &lane{laneKey: key, in: o, pods: heapOf[*item]{queued}}
	queued.lane, queued.index = l, 0
	if o.of == nil {
		o.of = map[laneKey]*lane{}
	}
	o.of[key] = l
	heap.Push(&o.lanes, l)
	key.tenant.lanes = append(key.tenant.lanes, l)
}

func (o *order) remove(queued *item) {
	l := queued.lane
	queued.lane = nil
	if len(l.pods) == 1 {
		o.removeLane(l)
		return
	}
	heap.Remove(&l.pods, queued.index)
	heap.Fix(&o.lanes, l.index)
}

func (o *order) removeLane(l *lane) {
	heap.Remove(&o.lanes, l.index)
	delete(o.of, l.laneKey)
	i := slices.Index(l.tenant.lanes, l)
	l.tenant.lanes = slices.Delete(l.tenant.lanes, i, i+1)
}

// heaped is an element of a heapOf. moved is called with the element's new index.
type heaped[T any] interface {
	before(T) bool
	moved(to int)
}

// heapOf implements heap.Interface.
type heapOf[T heaped[T]] []T

func (h heapOf[T]) Len() int           { return len(h) }
func (h heapOf[T]) Less(i, j int) bool { return h[i].before(h[j]) }

func (h heapOf[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].moved(i)
	h[j].moved(j)
}

func (h *heapOf[T]) Push(x any) {
	x.(T).moved(len(*h))
	*h = append(*h, x.(T))
}

func (h *heapOf[T]) Pop() any {
	var zero T
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = zero
	*h = (*h)[:last]
	return x
}
