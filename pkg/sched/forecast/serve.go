package forecast

import (
	"cmp"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/reservation"
)

// The method `all` returns the indexes of all nodes.
func (f *future) all() []int {
	all := make([]int, len(f.nodes))
	for i := range all {
		all[i] = i
	}
	return all
}

// serve starts the waiting pods that fit the freed nodes, in the order of the queue. It reports
// whether the pod whose start is forecast has started. It tries only the freed nodes, because
// waiting pods did not fit the other nodes before, and nothing has become free on the other nodes
// since. Before a pod starts, the method `reserve` makes reservations for the waiting pods that
// this pod would overtake, so that this pod does not take their resources. An alternative was
// rejected: to reserve a node for each pod as soon as the pod does not fit. Finding the nodes to
// reserve would take longer than the rest of the function. Most of these reservations would be
// useless: usually, no pod that is behind the pod with the reservation fits the freed nodes, so no
// pod would overtake it.
func (f *future) serve(freed []int) (started bool) {
	for len(freed) > 0 && f.checks > 0 {
		var unreserved []int
		still := f.waiting[:0]
		for _, t := range f.waiting {
			node := f.fit(t, freed)
			if node >= 0 && f.reserve(still) {
				node = f.fit(t, freed)
			}
			if node < 0 {
				still = append(still, t)
				continue
			}
			unreserved = append(unreserved, f.place(t, node)...)
		}
		f.waiting, freed = still, unreserved
	}
	return f.last().node >= 0
}

// last returns the last element of f.turns, which is the pod whose start is forecast.
func (f *future) last() *turn { return f.turns[len(f.turns)-1] }

// fit returns the index of a node that fits the pod. Of the given nodes that fit, it chooses the
// one with the least free GPU capacity. Of nodes with equal free GPU capacity, it chooses the one
// with the least free CPU. It returns -1 if the pod fits none of the given nodes.
func (f *future) fit(t *turn, nodes []int) int {
	f.checks -= len(nodes)
	best := -1
	for _, i := range nodes {
		if fits(t.Pod, f.nodes[i]) && (best < 0 || tighter(f.nodes[i], f.nodes[best])) {
			best = i
		}
	}
	return best
}

func fits(pod *sched.Pod, node *sched.Node) bool {
	return !filter.Check(pod, node).Refuses() && (pod.Admits == nil || pod.Admits(node))
}

// tighter reports whether node a has less free GPU capacity than node b, or equal free GPU capacity
// and less free CPU.
func tighter(a, b *sched.Node) bool {
	return cmp.Or(cmp.Compare(freeGPUs(a), freeGPUs(b)), cmp.Compare(a.Free.CPU, b.Free.CPU)) < 0
}

func freeGPUs(node *sched.Node) (sum sched.MilliGPU) {
	for _, gpu := range node.GPUs {
		sum += gpu.Free
	}
	return sum
}

// place starts a waiting pod. If nodes are reserved for the pod or its gang, the method ends all
// these reservations, because a gang starts as a whole. It returns the indexes of these nodes,
// because waiting pods may fit there now. The caller tries the other pods of the gang there before
// the pods that are behind the gang in the queue.
func (f *future) place(t *turn, node int) (unreserved []int) {
	at, _ := filter.Place(t.Pod, f.nodes[node])
	t.node, t.holds = node, sched.Hold(t.Pod, at)
	f.nodes[node] = f.nodes[node].Take(t.holds)
	f.start(t.UID, node, t.holds, t.ends(f.now))
	unreserved = f.reserved[t.Claim()]
	delete(f.reserved, t.Claim())
	for _, i := range unreserved {
		f.nodes[i] = f.nodes[i].Reserve(nil)
	}
	return unreserved
}

// reserve makes a reservation for the first waiting pod of each resource type, unless this pod
// already has a reservation. It reserves the node on which the pod will fit soonest, and reports
// whether it reserved any node. Package reservation differs in three respects. That package makes a
// reservation only when the pod has been unschedulable for a while, and may later move the
// reservation to another node. For several pods of overlapping types, such as T4 and T4|V100, it
// makes only one reservation.
func (f *future) reserve(waiting []*turn) (any bool) {
	seen := map[string]bool{}
	for _, t := range waiting {
		if kind := t.ResourceType(); !seen[kind] {
			seen[kind] = true
			any = f.reserveFor(t) || any
		}
	}
	return any
}

func (f *future) reserveFor(t *turn) bool {
	if _, ok := f.reserved[t.Claim()]; ok {
		return false
	}
	best, ok := f.offer(t.Pod)
	if !ok {
		return false
	}
	i := f.index[best.Node]
	f.nodes[i] = f.nodes[i].Reserve(&sched.Reservation{UID: t.Claim(), Holding: best.Holding})
	f.reserved[t.Claim()] = []int{i}
	return true
}

// offer finds out when each node will fit a pod (reservation.On). It returns the best node, and
// what to reserve on that node. It returns false if the pod will fit no node, or if no more checks
// are left (f.checks).
func (f *future) offer(pod *sched.Pod) (best reservation.Offer, ok bool) {
	for i, node := range f.nodes {
		if f.checks -= 1 + len(f.running[i]); f.checks <= 0 {
			return best, false
		}
		if pod.Admits != nil && !pod.Admits(node) {
			continue
		}
		if o, fits := reservation.On(pod, node, f.running[i]); fits && (!ok || o.Compare(best) < 0) {
			best, ok = o, true
		}
	}
	return best, ok
}
