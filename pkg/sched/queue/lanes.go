package queue

import (
	"container/heap"
	"slices"
)

// order sorts pods of one class. It is a heap of lanes. A lane is a heap of the pods that one
// tenant has with one priority. Lanes are ordered by their first pods. In this example, two
// tenants have pods that wait for T4 GPUs:
//
//	T4 ─┬─ bob, priority 0, score 0.4 ─ b1 b2 b3 …
//	    └─ ann, priority 0, score 7.8 ─ a1 a2 …
//
// If the score of a tenant changes, the tenant's lanes have to be moved, but not its pods. The
// tenant has one lane for each priority of its pods, and to move a lane takes O(log k) time for k
// lanes. For n pods, insert and remove take O(log n) time, and first takes O(1) time.
//
// Two alternatives were rejected. With one heap of all n pods, a change of the score of a tenant
// with 100,000 pods would take O(n · log n) time. An order-statistic tree would give a pod's
// position in O(log n) time. But the position of a pod is needed only when a user asks for it.
type order struct {
	lanes heapOf[*lane]
	of    map[laneKey]*lane
}

type laneKey struct {
	tenant   *tenant
	priority int32
}

// lane is a heap of the pods that one tenant has with one priority. It is never empty.
type lane struct {
	laneKey
	in    *order
	index int // of the lane in the heap in.lanes
	pods  heapOf[*item]
}

func (l *lane) before(m *lane) bool { return l.pods[0].before(m.pods[0]) }
func (l *lane) moved(to int)        { l.index = to }

// tenant is a tenant that has pods in a class. A tenant with pods in several classes has one
// tenant value in each.
type tenant struct {
	name  string
	rank  float64 // returned by Env.Rank; tenants with a smaller rank come first
	pods  int     // pending, in any state
	lanes []*lane // unordered
}

// rescore sets the rank of a tenant. It removes all lanes of the tenant from their heaps first,
// because heap.Fix can repair a heap in which only one element has changed.
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

// heaped is an element of a heapOf. The heap calls moved with the element's new index.
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
