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
	Wait  time.Duration // how long a pod has to be unschedulable before it gets a reservation; default 30 s
	Again time.Duration // how often a better node is searched for; default 1 minute
	// Keep is how long a reservation lasts; the default is 24 hours. If a running pod must end before
	// the waiting pod fits, and is known to end only after this time, the reservation lasts longer:
	// until a minute after the running pod's end. If the waiting pod is still not placed when its
	// reservation ends, it gets another one after Wait.
	Keep time.Duration
	// Ends returns when a bound pod will end, or the zero time if that is unknown. If Ends is nil,
	// the ends of all pods are unknown.
	Ends func(uid string) time.Time
	// Fits returns a function that reports whether a node fits a pod, without regard to resources.
	// The function checks constraints that remain when the pods on the node end, such as taints.
	// The parameter `planned` has the pods of the same gang for which nodes are already planned. If
	// Fits is nil, every node fits.
	Fits func(pod *sched.Pod, planned []sched.Decision) func(*sched.Node) bool
	// Held is called when the free resources that a reservation keeps from other pods change, so
	// that the tenant of the pod with the reservation is charged for them. The argument `holds` is
	// empty when the reservation ends. If Held is nil, no tenant is charged.
	Held func(pod *sched.Pod, holds []fairshare.Charge)
}

// Reservations reserves nodes for the first unschedulable pod of each resource type
// (sched.Pod.ResourceType). No other pod of the type gets a reservation, so that no pod reserves a
// node that a pod before it in the queue needs. If types overlap, such as T4 and T4|V100, only one
// of them has a reservation: the type whose first unschedulable pod comes earliest in the queue.
// The pods behind a pod with a reservation may be placed before it, because they cannot take what
// is reserved. Only one goroutine at a time may use a Reservations.
type Reservations struct {
	state   *nodestate.State
	queue   *queue.Queue
	options Options
	byType  map[fairshare.Type]*reservation
}

// reservation has the nodes that are reserved for a pod or a gang. Its plan is nil if nothing is
// reserved now.
type reservation struct {
	pod            *sched.Pod
	plan           plan
	made, searched time.Time
	held           []fairshare.Charge // the argument of the last call of Options.Held
}

// New returns a Reservations that has reserved nothing.
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

// Tend makes, moves and releases reservations. It must be called periodically:
//
//  1. Tend releases the reservation of a pod that was placed or deleted, or that has had the
//     reservation for Options.Keep. It does not wait until a placed pod is bound. Tend also releases
//     the reservation of a pod that is no longer the first unschedulable pod of its resource type,
//     if the pod that is now the first has been unschedulable for Options.Wait. But a pod that will
//     soon be tried again, before the pod that is now the first, keeps its reservation.
//  2. For the first unschedulable pod of each resource type, Tend reserves the best node once the
//     pod has been unschedulable for Options.Wait. If a worse node was reserved for the pod, Tend
//     releases that node. A gang gets nodes for all pods that must start together. If the first
//     pods of two overlapping types could both have a reservation, only the pod that is earlier in
//     the queue has one. Once the first pod of a type has been unschedulable for Options.Wait, the
//     pods behind it may be placed before it, even if no node could be reserved.
//  3. For each reservation, Tend calls Options.Held if the amounts that the reservation keeps from
//     other pods have changed.
//
// Each search for the best node checks all nodes and all their pods. Such a search runs when the
// first unschedulable pod of a type has been unschedulable for Options.Wait, and then at the
// interval Options.Again. It also runs when this pod's request has changed, when a node is no longer
// reserved for this pod, or when the reservation of an overlapping type has ended.
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

// due reports whether `head`, the first unschedulable pod of a resource type, has been
// unschedulable for Options.Wait.
func (rs *Reservations) due(head queue.Head, now time.Time) bool {
	return now.Sub(head.Since) >= rs.options.Wait
}

// review releases the reservation of a resource type if its pod must not keep it (step 1 of Tend).
// `head` is the type's first unschedulable pod, or empty if the type has none.
func (rs *Reservations) review(resourceType fairshare.Type, r *reservation, head queue.Head, now time.Time) {
	state, pending := rs.queue.State(r.pod.UID)
	switch {
	case state == queue.InFlight && rs.placed(r): // its Binding may take minutes, for example to provision a volume
		rs.drop(resourceType)
	case state == queue.InFlight: // the scheduler looks for a node: wait for the result
	case !pending || head.Pod != nil && head.Pod.UID != r.pod.UID && rs.due(head, now) && !rs.isNext(r, state, head):
		rs.queue.Block(r.pod.UID)
		rs.drop(resourceType)
	case r.plan != nil && now.After(r.expires(rs.options.Keep)):
		rs.release(r)
		r.made = now
	}
}

// placed reports whether the pod with a reservation is assigned to a node. For a gang, it reports
// whether as many of its pods are assigned as must start together.
func (rs *Reservations) placed(r *reservation) bool {
	pods, need := r.pod.Together()
	for _, pod := range pods {
		if rs.state.Holds(pod.UID) {
			need--
		}
	}
	return need <= 0
}

// isNext reports whether the pod with a reservation will be tried before `head`, and only therefore is
// not the first unschedulable pod. For example, a pod is queued anew when the quota of its tenant
// changes. The parameter `state` is the state of the pod.
func (rs *Reservations) isNext(r *reservation, state queue.State, head queue.Head) bool {
	waits := state == queue.Active || state == queue.Backoff || state == queue.WaitingOnPermit
	return waits && rs.queue.Precedes(r.pod.UID, head.Pod.UID)
}

// drop releases the reservation of a resource type and removes it from byType. The first pods of
// overlapping types may now find a better node, so it lets them search again at once.
func (rs *Reservations) drop(resourceType fairshare.Type) {
	r := rs.byType[resourceType]
	rs.release(r)
	rs.charge(r)
	delete(rs.byType, resourceType)
	for other, r := range rs.byType {
		if other.Overlaps(resourceType) {
			r.searched = time.Time{}
		}
	}
}

// release releases the nodes of a reservation, and makes the queue retry pods that fit these nodes.
func (rs *Reservations) release(r *reservation) {
	rs.state.Unreserve(r.pod.Claim())
	released := r.plan
	r.plan = nil
	rs.freed(released)
}

// freed makes the queue retry pods that now fit the nodes of a plan.
func (rs *Reservations) freed(released plan) {
	for _, o := range released {
		if node := rs.state.Record(o.Node); node != nil {
			rs.queue.Freed(node)
		}
	}
}

// expires returns when the reservation ends if the pod is not placed. The argument `keep` is
// Options.Keep.
func (r *reservation) expires(keep time.Duration) time.Time {
	end := r.made.Add(keep)
	for _, o := range r.plan {
		if end.Before(o.Ready) {
			end = o.Ready.Add(time.Minute)
		}
	}
	return end
}

// update reserves the best node for `head`, the first unschedulable pod of a resource type, if it
// is time for a search (step 2 of Tend). The argument `behind` has those first unschedulable pods
// of other types that come after `head` in the queue. The method also calls the queue's method
// AllowBypass for a pod that already has a reservation, because the queue forgets an earlier call
// of AllowBypass when a Binding of the pod fails.
func (rs *Reservations) update(head queue.Head, behind []queue.Head, now time.Time) {
	r, rivals, broken := rs.byType[head.Type], rs.rivals(head.Type), false
	switch {
	case r != nil && r.pod.UID != head.Pod.UID: // another pod of this type keeps its reservation: that pod is in flight, or `head` has not waited long enough (see the method `review`)
		if rs.due(head, now) {
			rs.queue.AllowBypass(head.Pod.UID)
		}
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
		broken = true
	case r.plan == nil && now.Sub(r.made) < rs.options.Wait, now.Sub(r.searched) < rs.options.Again:
		rs.queue.AllowBypass(head.Pod.UID)
		return
	}
	r.pod = head.Pod
	if best := rs.plan(head.Pod, rs.claims(rivals)); broken || !best.equal(r.plan) {
		if best != nil {
			for _, t := range rivals {
				rs.drop(t)
			}
		}
		rs.reserve(r, best, now)
	}
	r.searched = now
	rs.queue.AllowBypass(head.Pod.UID)
}

// rivals returns the resource types other than the given type that overlap it (pods of both types
// can use the same GPUs) and have a reservation. They are sorted by name.
func (rs *Reservations) rivals(resourceType fairshare.Type) (all []fairshare.Type) {
	for other, r := range rs.byType {
		if r.plan != nil && other != resourceType && other.Overlaps(resourceType) {
			all = append(all, other)
		}
	}
	slices.Sort(all)
	return all
}

// claims returns the keys (sched.Pod.Claim) of the reservations of the given resource types.
func (rs *Reservations) claims(types []fairshare.Type) map[string]bool {
	all := map[string]bool{}
	for _, t := range types {
		all[rs.byType[t].pod.Claim()] = true
	}
	return all
}

// isBehind reports whether the pod that has the reservation of a resource type is one of the pods
// in `heads`. These are the pods that the method `update` gets as its argument `behind`. All of
// them are unschedulable. So if the pod with the reservation is being placed, isBehind returns
// false, and the pod keeps its reservation.
func (rs *Reservations) isBehind(resourceType fairshare.Type, heads []queue.Head) bool {
	return slices.ContainsFunc(heads, func(head queue.Head) bool {
		return head.Type == resourceType && head.Pod.UID == rs.byType[resourceType].pod.UID
	})
}

// intact reports whether all nodes of a reservation are still reserved for its pod. A node is no
// longer reserved if it was removed. When the pod is assigned, all nodes are released. They stay
// released if binding fails and the assignment is undone.
func (rs *Reservations) intact(r *reservation) bool {
	return !slices.ContainsFunc(r.plan, func(o Offer) bool {
		node := rs.state.Record(o.Node)
		return node == nil || node.Reserved == nil || node.Reserved.UID != r.pod.Claim()
	})
}

// reserve replaces a pod's reservation by the plan p. If one node of the plan cannot be reserved,
// none is reserved.
func (rs *Reservations) reserve(r *reservation, p plan, now time.Time) {
	if r.plan == nil {
		r.made = now
	}
	on := map[string]sched.Holding{}
	for _, o := range p {
		on[o.Node] = o.Holding
	}
	if len(p) == 0 || !rs.state.Reserve(r.pod.Claim(), on) {
		rs.release(r)
		return
	}
	before := r.plan
	r.plan = p
	rs.freed(before) // what is reserved now is not free for other pods
	if p.idle() {
		rs.queue.RetryPod(r.pod.UID)
	}
}

// Reservation returns what is reserved for a pod, or for the gang that it represents in the queue.
// There is one Offer for each node.
func (rs *Reservations) Reservation(uid string) []Offer {
	for _, r := range rs.byType {
		if r.pod.UID == uid {
			return r.plan
		}
	}
	return nil
}
