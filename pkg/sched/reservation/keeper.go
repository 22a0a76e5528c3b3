package reservation

import (
	"maps"
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/queue"
)

// Options are how long to wait. Zeros are the defaults.
type Options struct {
	Wait  time.Duration // a pod is blocked so long before a node is held back for it: 30 s
	Again time.Duration // a better node is looked for so often: 1 minute
	// Keep is how long a node is held back: 24 hours, or until the ends that are
	// known if that is longer. Who has not come to its node by then gives it up, and
	// waits once more before it has another.
	Keep time.Duration
	// Ends says when a bound pod will end, zero where nobody knows. Nil: nobody does.
	Ends func(uid string) time.Time
	// Suits turns to a pod, where others of its gang are planned, and returns whether
	// nothing speaks against a node that would not end with its guests, such as a taint,
	// or one of those others. Nil: nothing does.
	Suits func(pod *sched.Pod, planned []sched.Decision) func(*sched.Node) bool
}

// Keeper holds nodes back: for each type for the first of its blocked pods, and for
// nobody else, so that who waits for a node holds none that another waits for. All
// others pass that pod, for what they take is not what it waits for. It serves one
// goroutine.
type Keeper struct {
	center  *nodestate.State
	queue   *queue.Queue
	options Options
	kept    map[fairshare.Type]*kept
}

// kept is what is held back for a pod or a gang, or that it had something (no plan).
type kept struct {
	pod          *sched.Pod
	plan         plan
	made, looked time.Time
}

// New returns a keeper that holds nothing back yet.
func New(c *nodestate.State, q *queue.Queue, o Options) *Keeper {
	for d, otherwise := range map[*time.Duration]time.Duration{&o.Wait: 30 * time.Second, &o.Again: time.Minute, &o.Keep: 24 * time.Hour} {
		if *d <= 0 {
			*d = otherwise
		}
	}
	if o.Ends == nil {
		o.Ends = func(string) time.Time { return time.Time{} }
	}
	if o.Suits == nil {
		o.Suits = func(*sched.Pod, []sched.Decision) func(*sched.Node) bool {
			return func(*sched.Node) bool { return true }
		}
	}
	return &Keeper{center: c, queue: q, options: o, kept: map[fairshare.Type]*kept{}}
}

// Tend holds back, moves and gives up what is to be now:
//
//  1. who is placed or gone, or has had its node for too long, gives it up, and so
//     does who is no longer the first to one that has waited long enough;
//  2. for who is the first and has waited long enough, the best node is held back, in
//     place of a worse one, or for a gang the best nodes for all that have to start,
//     and all others pass from then on.
//
// To look at all nodes costs O(pods there) placements: once for a pod that becomes
// the first, and then every Options.Again.
func (k *Keeper) Tend(now time.Time) {
	heads := k.queue.Heads()
	for _, t := range slices.Sorted(maps.Keys(k.kept)) {
		var first queue.Head
		if i := slices.IndexFunc(heads, func(h queue.Head) bool { return h.Type == t }); i >= 0 {
			first = heads[i]
		}
		k.review(t, k.kept[t], first, now)
	}
	for _, h := range heads {
		k.serve(h, now)
	}
}

// due reports whether a head has waited long enough.
func (k *Keeper) due(h queue.Head, now time.Time) bool { return now.Sub(h.Since) >= k.options.Wait }

// review gives up what is not to be kept.
func (k *Keeper) review(t fairshare.Type, r *kept, head queue.Head, now time.Time) {
	state, pending := k.queue.State(r.pod.UID)
	switch {
	case state == queue.InFlight: // it is being placed: wait for what comes of it
	case !pending || head.Pod != nil && head.Pod.UID != r.pod.UID && k.due(head, now):
		k.giveUp(r)
		k.queue.Block(r.pod.UID)
		delete(k.kept, t)
	case r.plan != nil && now.After(r.expires(k.options.Keep)):
		k.giveUp(r)
		r.made = now
	}
}

// giveUp frees what is held back, and has those tried again whom that helps.
func (k *Keeper) giveUp(r *kept) {
	k.center.Unreserve(r.pod.Claim())
	given := r.plan
	r.plan = nil
	for _, o := range given {
		if node := k.center.Record(o.Node); node != nil {
			k.queue.Reactivate(func(pod *sched.Pod) bool { return filter.FitsAny(pod, node) })
		}
	}
}

// expires returns when the reservation is given up.
func (r *kept) expires(keep time.Duration) time.Time {
	end := r.made.Add(keep)
	for _, o := range r.plan {
		if end.Before(o.Ready) {
			end = o.Ready.Add(time.Minute)
		}
	}
	return end
}

// serve holds the best node back for a head, if it is time to look for one. One that
// asks for something else now has come anew to the queue, so that it insists again.
func (k *Keeper) serve(h queue.Head, now time.Time) {
	r := k.kept[h.Type]
	switch {
	case r == nil && !k.due(h, now), r != nil && r.pod.UID != h.Pod.UID: // another is being placed
		return
	case r == nil:
		r = &kept{}
		k.kept[h.Type] = r
	case r.pod != h.Pod:
	case !k.holds(r):
		r.plan = nil
	case r.plan == nil && now.Sub(r.made) < k.options.Wait, now.Sub(r.looked) < k.options.Again:
		k.queue.AllowBypass(h.Pod.UID)
		return
	}
	r.pod, r.looked = h.Pod, now
	if best := k.plan(h.Pod); !best.equal(r.plan) {
		k.hold(r, best, now)
	}
	k.queue.AllowBypass(h.Pod.UID)
}

// holds reports whether all is still held back: not where a node has gone, or the pod
// had its place there, and could not be bound.
func (k *Keeper) holds(r *kept) bool {
	return !slices.ContainsFunc(r.plan, func(o Offer) bool {
		node := k.center.Record(o.Node)
		return node == nil || node.Reserved == nil || node.Reserved.UID != r.pod.Claim()
	})
}

// hold makes a plan what is held back for a pod, all of it or nothing.
func (k *Keeper) hold(r *kept, p plan, now time.Time) {
	if r.plan == nil {
		r.made = now
	}
	k.giveUp(r)
	for _, o := range p {
		if !k.center.Reserve(r.pod.Claim(), o.Node, o.Holding) {
			k.center.Unreserve(r.pod.Claim())
			return
		}
	}
	r.plan = p
	k.queue.Reactivate(func(pod *sched.Pod) bool { return pod == r.pod && p.idle() })
}

// Reservation returns what is held back for a pod or a gang: an offer a node.
func (k *Keeper) Reservation(uid string) []Offer {
	for _, r := range k.kept {
		if r.pod.UID == uid {
			return r.plan
		}
	}
	return nil
}
