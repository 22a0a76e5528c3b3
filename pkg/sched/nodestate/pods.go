package nodestate

import (
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/sched"
)

// Place gives a pod its place, and its reservations up, if read is still the
// newest record of the node and the pod has no place yet.
func (c *Center) Place(pod *sched.Pod, read *sched.Node, at sched.Placement) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := read.Home.(*site)
	if _, has := c.mu.stays[pod.UID]; has || !ok || s.slot.Newest() != read {
		return false
	}
	c.settle(&stay{uid: pod.UID, site: s, Holding: sched.Hold(pod, at)})
	return true
}

// Adopt enters a pod that is bound, whoever decided it: it holds what it holds,
// even where that is more than there is. The same again changes nothing.
func (c *Center) Adopt(uid, node string, h sched.Holding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.mu.stays[uid]
	if ok && old.site.name == node && old.Holding.Equal(h) {
		old.bound = true
		return
	}
	if ok {
		c.leave(old)
	}
	c.settle(&stay{uid: uid, site: c.site(node), Holding: h, bound: true})
}

// Release gives back what a pod holds and reserves, for it has ended. It reports
// whether the pod held anything.
func (c *Center) Release(uid string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unreserve(uid)
	old, ok := c.mu.stays[uid]
	if ok {
		c.leave(old)
	}
	return ok
}

// Undo gives back what was decided for a pod and could not be bound, and reports
// whether it did: not where the pod turns out to be bound after all.
func (c *Center) Undo(d sched.Decision) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.mu.stays[d.Pod.UID]
	ok = ok && !old.bound && old.site.name == d.At.Node
	if ok {
		c.leave(old)
	}
	return ok
}

// Holds reports whether a pod has its place.
func (c *Center) Holds(uid string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.mu.stays[uid]
	return ok
}

// Guest is a pod and what it holds on its node.
type Guest struct {
	UID string
	sched.Holding
}

// Guests returns who holds what on a node, in order of their UIDs. It costs
// O(pods there · log pods there).
func (c *Center) Guests(node string) []Guest {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.mu.sites[node]
	if !ok {
		return nil
	}
	guests := make([]Guest, 0, len(s.pods))
	for _, p := range s.pods {
		guests = append(guests, Guest{p.uid, p.Holding})
	}
	slices.SortFunc(guests, func(a, b Guest) int { return strings.Compare(a.UID, b.UID) })
	return guests
}
