package center

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/bucket"
)

// Center is the node information centre. Its methods may be called from any
// goroutine: those that change something work one after another under one lock,
// and View waits for none.
//
// Invariants: a record's version only grows, and grows with every change; what
// is free on a record is what the node has less the holdings of its pods; a pod
// holds on one node at most; every record is in every index.
//
// A change costs O(1) in the number of nodes and pods: one new record, which
// shares with the old one what did not change, and one move in each index. The
// views of before stay as they were. Two simpler ways were rejected: a snapshot
// copied for each first-tier scheduler costs O(nodes) a decision, and at 5,000
// nodes more than the decision itself (volcano-sh/volcano#5168); a table of live
// records beside the index shows a scheduler nodes in a state in which the
// index did not find them.
type Center struct {
	profiles []Profile
	view     atomic.Pointer[View]
	stale    atomic.Bool // something changed since view was made

	mu struct {
		sync.Mutex
		sites   map[string]*site
		stays   map[string]stay // by pod UID
		indexes []*bucket.Index // of the profiles
		changes sched.Version   // of all records together
		gains   uint64
	}
}

// site is a place where pods are: a node, or the name of one that is not known
// (yet, or any more) but holds pods.
type site struct {
	base   *sched.Node // all of it free; nil while the node is not known
	record *sched.Node // the newest; nil while the node is not known
	pods   map[string]sched.Holding
}

// stay is where a pod is and what it holds.
type stay struct {
	node string
	sched.Holding
	bound bool // it is known to be bound there; else it is only decided
}

// New returns a centre without nodes that looks for nodes in these ways.
func New(profiles ...Profile) (*Center, error) {
	if len(profiles) == 0 {
		return nil, fmt.Errorf("start node information centre: no profile")
	}
	c := &Center{}
	c.mu.sites, c.mu.stays = map[string]*site{}, map[string]stay{}
	for _, p := range profiles {
		p, err := p.complete()
		if err != nil {
			return nil, fmt.Errorf("start node information centre: %w", err)
		}
		index, err := bucket.New(bucket.Config{Theta: p.Theta})
		if err != nil {
			return nil, fmt.Errorf("start node information centre: profile %q: %w", p.Name, err)
		}
		c.profiles, c.mu.indexes = append(c.profiles, p), append(c.mu.indexes, index)
	}
	c.publish()
	return c, nil
}

// SetNode tells what a node has: the record counts as all free, and its version
// and reservations are ignored. What pods hold there stays theirs.
func (c *Center) SetNode(base *sched.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(base.Name)
	s.base = base
	next := *base
	next.Free, next.Reserved = base.Allocatable, nil
	if s.record != nil {
		next.Reserved = s.record.Reserved
	}
	record := &next
	for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
		record = record.Take(s.pods[uid])
	}
	c.mu.gains++
	c.enter(s, record)
}

// RemoveNode forgets a node. Its pods keep what they hold until they are
// released, in case the node comes back.
func (c *Center) RemoveNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.mu.sites[name]
	if !ok || s.record == nil {
		return
	}
	s.base, s.record = nil, nil
	for _, index := range c.mu.indexes {
		must(index.Remove(name))
	}
	c.tidy(name)
	c.stale.Store(true)
}

// Place gives a pod its place if read is still the newest record of the node
// and the pod has no place yet.
func (c *Center) Place(pod *sched.Pod, read *sched.Node, at sched.Placement) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.mu.sites[read.Name]
	if _, has := c.mu.stays[pod.UID]; has || !ok || s.record != read {
		return false
	}
	c.settle(pod.UID, s, stay{node: read.Name, Holding: sched.Hold(pod, at)})
	return true
}

// Adopt enters a pod that is bound, whoever decided it: it holds what it holds,
// even where that is more than there is. The same again changes nothing.
func (c *Center) Adopt(uid, node string, h sched.Holding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := stay{node: node, Holding: h, bound: true}
	old, ok := c.mu.stays[uid]
	if ok && old.node == node && equal(old.Holding, h) {
		c.mu.stays[uid] = now
		return
	}
	if ok {
		c.leave(uid, old)
	}
	c.settle(uid, c.site(node), now)
}

// Release gives back what a pod holds, for it has ended. It reports whether the
// pod held anything.
func (c *Center) Release(uid string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.mu.stays[uid]
	if ok {
		c.leave(uid, old)
	}
	return ok
}

// Undo gives back what was decided for a pod and could not be bound, and reports
// whether it did: not where the pod turns out to be bound after all.
func (c *Center) Undo(d sched.Decision) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.mu.stays[d.Pod.UID]
	ok = ok && !old.bound && old.node == d.At.Node
	if ok {
		c.leave(d.Pod.UID, old)
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

// Record returns the newest record of a node, or nil.
func (c *Center) Record(name string) *sched.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.mu.sites[name]; ok {
		return s.record
	}
	return nil
}

// Gains returns how often anything has become free, ever: exactly, where a
// View's may be of a moment before.
func (c *Center) Gains() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.gains
}
