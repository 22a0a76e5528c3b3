package filters

import (
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// tracked caches sets of nodes and counts of placed pods. A nodeSet has the nodes that admit pods
// with certain rules, such as a node selector, and counts why the other nodes refuse them. A value
// of type neighbors counts the placed pods that match a required pod affinity. A crowd has the
// placed pods that preferences or required (anti-)affinity select. Pending pods share these sets
// and counts if their rules, their required pod (anti-)affinity or their preferences are equal.
// Cluster keeps them up to date under the lock of the type `tracked`. When a pod needs a set or a
// count that is not cached, tracked visits all nodes to make it. A lookup of a cached set or count
// takes no lock. But the field `nodes` of a crowd and the field `refused` of a nodeSet are read
// under the lock.
//
// tracked keeps at most maxSets values of each of these three types. If it would have to keep more
// values of one type, it drops all values of this type. Values that are still needed are then made
// again. Reference counts would show which values are still needed. They were rejected, because
// usually there are only a few distinct rules, so that the limit is not reached.
type tracked struct {
	sync.Mutex
	nodes     kept[*nodeSet]     // by the rules of pods, see rulesOf
	neighbors counts[*neighbors] // by required pod affinity, see neighborsOf
	crowds    counts[*crowd]     // by which pods the preferences or the required (anti-)affinity select, see keyOf

	topics  []sched.Topic // memory that each call of countPod reuses
	changed []string      // keys of the rules for which the last change of a node made a difference, see Cluster.changed
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

// find returns the value of a key. If the map has no such key, the method calls the function `make`
// (a parameter) and stores the result, both under the given lock.
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

// admits reports whether the rules with the given key (see rulesOf) admit a node. It returns true
// if no node set is cached for the rules, or if the node does not exist.
func (c *Cluster) admits(rules string, node *sched.Node) bool {
	s, ok := c.sets.nodes.get(rules)
	info := c.at(node)
	return !ok || info == nil || !s.refuse(info).Refuses()
}

// lacks returns true if no placed pod matches the required pod affinity with the given key (see
// neighborsOf). It returns false if the pods that match are not counted yet.
func (c *Cluster) lacks(neighbors string) bool {
	n, ok := c.sets.neighbors.get(neighbors)
	return ok && n.count.Load() == 0
}

// refusals returns, for each reason, how many nodes a node set leaves out for this reason. It
// returns nil if the set has any node: the reasons are needed only to explain why no node suits a
// pod.
func (c *Cluster) refusals(s *nodeSet) sched.Tally {
	c.sets.Lock()
	defer c.sets.Unlock()
	if s.admitted > 0 {
		return nil
	}
	return maps.Clone(s.refused)
}

// changed returns the keys of the rules (see rulesOf) for which the last change of a node made a
// difference. A new or removed node makes a difference for all rules. Any other change of a node
// makes a difference for rules that admit the node only before or only after the change. It also
// makes a difference for rules that refuse the node for another reason than before.
func (c *Cluster) changed() []string {
	c.sets.Lock()
	defer c.sets.Unlock()
	return slices.Clone(c.sets.changed)
}

// nodeSetFor returns the set of the nodes that the rules with the given key admit. If the set is
// not cached, nodeSetFor makes it. For this, it calls the function `refuse` (a parameter). This
// function returns another function, which tells why the rules refuse a node.
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

// neighborsFor returns the cached count of the placed pods that match a pod's required pod
// affinity. If no count is cached, neighborsFor counts the pods.
func (c *Cluster) neighborsFor(pod *Pod) *neighbors {
	return c.sets.neighbors.find(c, pod.neighbors, func() *neighbors {
		return &neighbors{terms: pod.info.RequiredAffinityTerms}
	})
}

// crowdFor returns a crowd: the placed pods that at least one element of the list `all` selects. The
// argument `key` is the key of this list (see keyOf). If the crowd is not cached, crowdFor makes it.
func (c *Cluster) crowdFor(key string, all []selected) *crowd {
	return c.sets.crowds.find(c, key, func() *crowd { return newCrowd(all) })
}

// The caller of each method below holds the lock of the type `tracked`.

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

// countPod adds a placed pod to all cached counts whose condition the pod meets, if `sign` is 1. If
// `sign` is -1, it removes the pod from these counts.
func (s *tracked) countPod(pod *v1.Pod, node string, sign int) {
	if len(s.neighbors.byTopic)+len(s.crowds.byTopic) == 0 {
		return
	}
	s.topics = appendPlaced(s.topics[:0], pod)
	s.neighbors.countPod(s.topics, pod, node, sign)
	s.crowds.countPod(s.topics, pod, node, sign)
}
