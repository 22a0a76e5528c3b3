package filters

import (
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// tracked caches sets and counts of nodes and placed pods. Pending pods with equal rules or equal
// preferences share them. Cluster keeps them up to date under the lock of tracked. When a pod needs
// a set or a count that does not exist yet, it is made by a visit to all nodes. Readers take no
// lock, except readers of a crowd.
//
// At most maxSets of each kind are kept. When there are more, all are dropped, and those that are
// still needed are made again. Reference counts were rejected, because usually there are only a few
// distinct rules.
type tracked struct {
	sync.Mutex
	nodes     kept[*nodeSet]     // by the rules of pods, see rulesOf
	neighbors counts[*neighbors] // by required pod affinity, see neighborsOf
	crowds    counts[*crowd]     // by what pods prefer, see preferredPods

	topics  []sched.Topic // reused by each call
	changed []string      // the rules whose answer for the last changed node has changed
}

const maxSets = 512

// kept is a map that is read without a lock and written under a lock.
type kept[T any] struct {
	all sync.Map
	len int
}

func (k *kept[T]) get(key string) (value T, ok bool) {
	found, ok := k.all.Load(key)
	if ok {
		value = found.(T)
	}
	return value, ok
}

// find returns the value of a key. If there is none, find makes and stores one under the lock.
func (k *kept[T]) find(lock sync.Locker, key string, make func() T) T {
	if found, ok := k.get(key); ok {
		return found
	}
	lock.Lock()
	defer lock.Unlock()
	if found, ok := k.get(key); ok {
		return found
	}
	if k.len == maxSets {
		k.all.Clear()
		k.len = 0
	}
	made := make()
	k.all.Store(key, made)
	k.len++
	return made
}

// admits reports whether rules admit a node. It returns true if no node set is cached for the
// rules.
func (c *Cluster) admits(rules string, node *sched.Node) bool {
	s, ok := c.sets.nodes.get(rules)
	info := c.at(node)
	return !ok || info == nil || !s.refuse(info).Refuses()
}

// lacks reports whether no placed pod matches a required affinity. It returns false if there is no
// count for this affinity yet.
func (c *Cluster) lacks(neighbors string) bool {
	n, ok := c.sets.neighbors.get(neighbors)
	return ok && n.count.Load() == 0
}

// refusals returns a copy of the reasons of a set, or nil if the set admits a node.
func (c *Cluster) refusals(s *nodeSet) sched.Tally {
	c.sets.Lock()
	defer c.sets.Unlock()
	if s.admitted > 0 {
		return nil
	}
	return maps.Clone(s.refused)
}

// changed returns the rules whose answer for the last changed node has changed.
func (c *Cluster) changed() []string {
	c.sets.Lock()
	defer c.sets.Unlock()
	return slices.Clone(c.sets.changed)
}

// nodeSetFor returns the set of the nodes that rules admit. If there is no such set yet, it calls
// refuse, whose result tells why the rules refuse a node.
func (c *Cluster) nodeSetFor(rules string, refuse func() func(*nodeInfo) sched.Reason) *nodeSet {
	return c.sets.nodes.find(&c.sets, rules, func() *nodeSet {
		all := map[string]*nodeInfo{}
		for e := range c.state.Entries() {
			if info := known(e); info != nil {
				all[e.Name()] = info
			}
		}
		return newNodeSet(refuse(), all)
	})
}

// neighborsFor returns the count of the placed pods that match a pod's required affinity.
func (c *Cluster) neighborsFor(pod *Pod) *neighbors {
	return c.sets.neighbors.find(c, pod.neighbors, func() *neighbors {
		return &neighbors{terms: pod.info.RequiredAffinityTerms}
	})
}

// crowdFor returns the crowd of the pods that a pod's preferences select.
func (c *Cluster) crowdFor(pod *Pod) *crowd {
	return c.sets.crowds.find(c, pod.crowd, func() *crowd { return newCrowd(pod.preferred) })
}

// The caller of the methods below holds the lock of tracked.

// changeNode updates all node sets after a node was added, changed or removed.
func (s *tracked) changeNode(e *nodestate.Entry, before, now *nodeInfo) {
	s.changed = s.changed[:0]
	was, is := before.Node(), now.Node()
	switch {
	case was == nil:
		before = nil
	case is != nil && sameForRules(was, is):
		return
	}
	if is == nil {
		now = nil
	}
	s.nodes.all.Range(func(rules, set any) bool {
		if set.(*nodeSet).change(e.Name(), before, now) {
			s.changed = append(s.changed, rules.(string))
		}
		return true
	})
}

// countPod adds (sign 1) or removes (sign -1) a placed pod in all counts that it matches.
func (s *tracked) countPod(pod *v1.Pod, node string, sign int) {
	if len(s.neighbors.byTopic)+len(s.crowds.byTopic) == 0 {
		return
	}
	s.topics = appendPlaced(s.topics[:0], pod)
	s.neighbors.countPod(s.topics, pod, node, sign)
	s.crowds.countPod(s.topics, pod, node, sign)
}
