package queue

import (
	"container/heap"
	"slices"
)

// order sorts pods of one class, which wait for the same type of resource. It is a heap of lanes.
// A lane is a heap of those pods that have the same tenant and the same priority. Lanes are
// ordered by their first pods. In this example, two tenants have pods that wait for T4 GPUs:
//
//	T4 ─┬─ bob, priority 0, score 0.4 ─ b1 b2 b3 …
//	    └─ ann, priority 0, score 7.8 ─ a1 a2 …
//
// If the fair-share score of a tenant changes, the tenant's lanes have to be moved within the heap
// of lanes, but its pods stay in their lanes. In each order, a tenant has one lane for each
// priority that its pods in this order have. To move one lane takes O(log k) time for k lanes in
// the order. For n pods in the order, the methods `insert` and `remove` take O(log n) time, and
// `first` takes O(1) time. When `remove` removes the last pod of a lane, it also searches the list
// of all lanes of the tenant.
//
// Two alternatives were rejected. The first is one heap of all n pods: if the score of a tenant
// with 100,000 pods changed, all these pods would have to be moved. The second is an
// order-statistic tree, which gives a pod's position in O(log n) time. The position of a pod is
// needed only when a user asks for it, so this advantage does not matter.
type order struct {
	lanes heapOf[*lane]
	of    map[laneKey]*lane
}

type laneKey struct {
	tenant   *tenant
	priority int32
}

// lane is a heap of those pods of an order that have the same tenant and the same priority. It is
// never empty.
type lane struct {
	laneKey
	in    *order
	index int // index of this lane in the heap of the lanes of its order, `in.lanes`
	pods  heapOf[*item]
}

func (l *lane) before(m *lane) bool { return l.pods[0].before(m.pods[0]) }
func (l *lane) moved(to int)        { l.index = to }

// tenant is a tenant that has pods in a class. If a tenant has pods in several classes, each of
// these classes has its own value of this type for the tenant.
type tenant struct {
	name  string
	rank  float64 // the tenant's score as Env.Rank returned it; tenants with a smaller rank come first
	pods  int     // number of the tenant's pending pods in the class, in any State
	lanes []*lane // the tenant's lanes in all orders of the class, unordered
}

// rescore sets the rank of a tenant. It removes all lanes of the tenant from their heaps, sets
// the rank, and then adds the lanes to their heaps again. It cannot use heap.Fix, which repairs a
// heap only if a single element has changed.
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

// first returns the pod that is before all other pods of the order, or nil if the order is empty.
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

// heaped is the interface of the elements of a heapOf. When an element gets a new index in the
// heap, the heap calls the element's method `moved` with this index.
type heaped[T any] interface {
	before(T) bool
	moved(to int)
}

// heapOf is a binary heap for package container/heap: it implements heap.Interface.
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
