package filters

import (
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// tracked has counts over all nodes and all placed pods, for pending pods with equal rules or equal
// preferences. Cluster updates them under its lock. A set is made by a visit to all nodes when a pod
// first needs it. Readers of a set take no lock, apart from readers of a crowd.
//
// It has at most maxSets of each kind. When there are more, all are dropped, and those that
// are still needed are made again. Counting how many pods use each set was rejected: there are only
// a few different rules, unless each pod has its own.
type tracked struct {
	sync.Mutex
	nodes     kept[*nodeSet]     // by rules
	neighbors counts[*neighbors] // by required affinity
	crowds    counts[*crowd]     // by what is preferred

	topics  []sched.Topic // reused
	changed []string      // rules whose set counts the node of the last event otherwise than before
}

const maxSets = 512

// kept is a map that is read without a lock and written under one.
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

// find returns the value of a key. If there is none, it makes one under the lock.
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

// admits reports whether rules admit a node, or have no set.
func (c *Cluster) admits(rules string, node *sched.Node) bool {
	s, ok := c.sets.nodes.get(rules)
	info := c.at(node)
	return !ok || info == nil || !s.refuse(info).Refuses()
}

// lacks reports whether no placed pod matches a required affinity, as far as that is counted.
func (c *Cluster) lacks(neighbors string) bool {
	n, ok := c.sets.neighbors.get(neighbors)
	return ok && n.count.Load() == 0
}

// refusals returns a copy of a set's tally, or nil if the set admits any node.
func (c *Cluster) refusals(s *nodeSet) sched.Tally {
	c.sets.Lock()
	defer c.sets.Unlock()
	if s.admitted > 0 {
		return nil
	}
	return maps.Clone(s.refused)
}

// changed returns the rules for which the result of the last event's node has changed.
func (c *Cluster) changed() []string {
	c.sets.Lock()
	defer c.sets.Unlock()
	return slices.Clone(c.sets.changed)
}

// nodeSetFor returns the set of the nodes that rules admit. refuse returns the function that
// returns why they refuse a node; it is called only for a new set.
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

// neighborsFor returns the count of the pods that match a pod's required affinity.
func (c *Cluster) neighborsFor(pod *Pod) *neighbors {
	return c.sets.neighbors.find(c, pod.neighbors, func() *neighbors {
		return &neighbors{terms: pod.info.RequiredAffinityTerms}
	})
}

// crowdFor returns the crowd of the pods that a pod's preferences select.
func (c *Cluster) crowdFor(pod *Pod) *crowd {
	return c.sets.crowds.find(c, pod.crowd, func() *crowd { return newCrowd(pod.preferred) })
}

// The methods below need the lock of tracked.

// changeNode updates all sets after a change of a node. A nil Node means that the node does not
// exist.
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

// countPod adds (1) or removes (-1) a placed pod.
func (s *tracked) countPod(pod *v1.Pod, node string, sign int) {
	if len(s.neighbors.byTopic)+len(s.crowds.byTopic) == 0 {
		return
	}
	s.topics = appendPlaced(s.topics[:0], pod)
	s.neighbors.countPod(s.topics, pod, node, sign)
	s.crowds.countPod(s.topics, pod, node, sign)
}
