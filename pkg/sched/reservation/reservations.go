package reservation

import (
	"maps"
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// Options are the options of Reservations. Zero durations mean the defaults.
type Options struct {
	Wait  time.Duration // how long a pod is blocked until it gets a reservation: 30 s
	Again time.Duration // interval at which a better node is searched: 1 minute
	// Keep is the lifetime of a reservation: 24 hours. It is extended if the pods in the
	// way are known to end later. A pod that was not placed by then loses its
	// reservation, and gets the next one after another Wait.
	Keep time.Duration
	// Ends returns when a bound pod will end, zero if unknown. Nil means that no end is
	// known.
	Ends func(uid string) time.Time
	// Fits returns a function for a pod. The function reports whether a node fits if resources are
	// not considered: it checks constraints that remain when the pods on the node end, such as
	// taints. planned are the other pods of the gang. Nil means that every node fits.
	Fits func(pod *sched.Pod, planned []sched.Decision) func(*sched.Node) bool
	// Held is called when the free resources that a reservation keeps from other pods change, so
	// that the pod's tenant is charged for them; nothing when it ends. Nil means that no tenant is
	// charged.
	Held func(pod *sched.Pod, holds []fairshare.Charge)
}

// Reservations reserves nodes for the first blocked pod of each type. Only that pod gets
// a reservation, so no pod holds a node that another one waits for. If types overlap, such as T4
// and T4|V100, only one of them has a reservation: the type whose pod is first in the queue. Once a
// pod has one, other pods may bypass it in the queue, because they cannot take what is reserved. It
// serves one goroutine.
type Reservations struct {
	state   *nodestate.State
	queue   *queue.Queue
	options Options
	byType  map[fairshare.Type]*reservation
}

// reservation is the nodes that are reserved for a pod or a gang. Its plan is nil if
// nothing is reserved now.
type reservation struct {
	pod            *sched.Pod
	plan           plan
	made, searched time.Time
	held           []fairshare.Charge // what Options.Held was called with last
}

// New returns a Reservations without any reservation.
func New(state *nodestate.State, q *queue.Queue, o Options) *Reservations {
	for d, otherwise := range map[*time.Duration]time.Duration{&o.Wait: 30 * time.Second, &o.Again: time.Minute, &o.Keep: 24 * time.Hour} {
		if *d <= 0 {
			*d = otherwise
		}
	}
	if o.Ends == nil {
		o.Ends = func(string) time.Time { return time.Time{} }
	}
	if o.Fits == nil {
		o.Fits = func(*sched.Pod, []sched.Decision) func(*sched.Node) bool {
			return func(*sched.Node) bool { return true }
		}
	}
	if o.Held == nil {
		o.Held = func(*sched.Pod, []fairshare.Charge) {}
	}
	return &Reservations{state: state, queue: q, options: o, byType: map[fairshare.Type]*reservation{}}
}

// Tend makes, moves and releases reservations:
//
//  1. It releases the reservation of a pod that is placed or gone, that has had it for
//     too long, or that is behind another pod which has waited long enough.
//  2. For each type's first pod that has waited long enough, it reserves the best node,
//     in place of a worse one. A gang gets nodes for all pods that must start together.
//     The reservation of a pod behind it whose type overlaps is released. If a pod before it
//     has such a reservation, it gets none. Other pods may bypass this pod from then on.
//  3. It calls Options.Held for reservations that keep more or less than before.
//
// A search takes O(pods in the cluster) placements. It runs when a pod becomes first,
// and then every Options.Again.
func (rs *Reservations) Tend(now time.Time) {
	heads := rs.queue.Heads()
	for _, t := range slices.Sorted(maps.Keys(rs.byType)) {
		var first queue.Head
		if i := slices.IndexFunc(heads, func(head queue.Head) bool { return head.Type == t }); i >= 0 {
			first = heads[i]
		}
		rs.review(t, rs.byType[t], first, now)
	}
	for i, h := range heads {
		rs.update(h, heads[i+1:], now)
	}
	for _, r := range rs.byType {
		rs.charge(r)
	}
}

// due reports whether the first pod of a type has waited long enough.
func (rs *Reservations) due(head queue.Head, now time.Time) bool {
	return now.Sub(head.Since) >= rs.options.Wait
}

// review releases the reservation of a type of resource if it must not be kept.
func (rs *Reservations) review(resourceType fairshare.Type, r *reservation, head queue.Head, now time.Time) {
	state, pending := rs.queue.State(r.pod.UID)
	switch {
	case state == queue.InFlight: // it is being placed: wait for the result
	case !pending || head.Pod != nil && head.Pod.UID != r.pod.UID && rs.due(head, now):
		rs.queue.Block(r.pod.UID)
		rs.drop(resourceType)
	case r.plan != nil && now.After(r.expires(rs.options.Keep)):
		rs.release(r)
		r.made = now
	}
}

// drop forgets the reservation of a type of resource.
func (rs *Reservations) drop(resourceType fairshare.Type) {
	r := rs.byType[resourceType]
	rs.release(r)
	rs.charge(r)
	delete(rs.byType, resourceType)
}

// release releases the reserved nodes, and retries the pods that fit them.
func (rs *Reservations) release(r *reservation) {
	rs.state.Unreserve(r.pod.Claim())
	released := r.plan
	r.plan = nil
	for _, o := range released {
		if node := rs.state.Record(o.Node); node != nil {
			rs.queue.Freed(node)
		}
	}
}

// expires returns when the reservation ends.
func (r *reservation) expires(keep time.Duration) time.Time {
	end := r.made.Add(keep)
	for _, o := range r.plan {
		if end.Before(o.Ready) {
			end = o.Ready.Add(time.Minute)
		}
	}
	return end
}

// update reserves the best node for the first pod of a type, if a search is due; behind are the
// first pods of other types that are behind it in the queue. A pod whose requests have changed was
// added to the queue again. It blocks others again until AllowBypass is called.
func (rs *Reservations) update(head queue.Head, behind []queue.Head, now time.Time) {
	r, rivals := rs.byType[head.Type], rs.rivals(head.Type)
	switch {
	case r != nil && r.pod.UID != head.Pod.UID: // another is being placed
		return
	case slices.ContainsFunc(rivals, func(resourceType fairshare.Type) bool { return !rs.isBehind(resourceType, behind) }):
		rs.queue.AllowBypass(head.Pod.UID)
		return
	case r == nil && !rs.due(head, now):
		return
	case r == nil:
		r = &reservation{}
		rs.byType[head.Type] = r
	case r.pod != head.Pod:
	case !rs.intact(r):
		r.plan = nil
	case r.plan == nil && now.Sub(r.made) < rs.options.Wait, now.Sub(r.searched) < rs.options.Again:
		rs.queue.AllowBypass(head.Pod.UID)
		return
	}
	r.pod, r.searched = head.Pod, now
	if best := rs.plan(head.Pod); !best.equal(r.plan) {
		if best != nil {
			for _, t := range rivals {
				rs.drop(t)
			}
		}
		rs.reserve(r, best, now)
	}
	rs.queue.AllowBypass(head.Pod.UID)
}

// rivals returns the other types that overlap a type and have a reservation, in order.
func (rs *Reservations) rivals(resourceType fairshare.Type) (all []fairshare.Type) {
	for other, r := range rs.byType {
		if r.plan != nil && other != resourceType && other.Overlaps(resourceType) {
			all = append(all, other)
		}
	}
	slices.Sort(all)
	return all
}

// isBehind reports whether the pod that has the reservation of this type is one of these. It is not
// while it is being placed.
func (rs *Reservations) isBehind(resourceType fairshare.Type, heads []queue.Head) bool {
	return slices.ContainsFunc(heads, func(head queue.Head) bool {
		return head.Type == resourceType && head.Pod.UID == rs.byType[resourceType].pod.UID
	})
}

// intact reports whether all nodes of the plan are still reserved. They are not if a
// node was removed, or if the pod was assigned a node but could not be bound.
func (rs *Reservations) intact(r *reservation) bool {
	return !slices.ContainsFunc(r.plan, func(o Offer) bool {
		node := rs.state.Record(o.Node)
		return node == nil || node.Reserved == nil || node.Reserved.UID != r.pod.Claim()
	})
}

// reserve replaces a pod's reservation by a plan: all of its nodes, or none.
func (rs *Reservations) reserve(r *reservation, p plan, now time.Time) {
	if r.plan == nil {
		r.made = now
	}
	rs.release(r)
	for _, o := range p {
		if !rs.state.Reserve(r.pod.Claim(), o.Node, o.Holding) {
			rs.state.Unreserve(r.pod.Claim())
			return
		}
	}
	r.plan = p
	if p.idle() {
		rs.queue.RetryPod(r.pod.UID)
	}
}

// Reservation returns what is reserved for a pod or a gang, one Offer for each node.
func (rs *Reservations) Reservation(uid string) []Offer {
	for _, r := range rs.byType {
		if r.pod.UID == uid {
			return r.plan
		}
	}
	return nil
}
