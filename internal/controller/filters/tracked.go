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
	nodes     kept[*nodeSet]   // by rules
	neighbors kept[*neighbors] // by required affinity
	byTopic   map[sched.Topic][]*neighbors
	crowds    kept[*crowd] // by what is preferred

	crowdsByTopic map[sched.Topic][]*crowd

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

// put adds a value. It reports whether all others were dropped.
func (k *kept[T]) put(key string, value T) (dropped bool) {
	if dropped = k.len == maxSets; dropped {
		k.all.Clear()
		k.len = 0
	}
	k.all.Store(key, value)
	k.len++
	return dropped
}

// admits reports whether rules admit a node, or have no set.
func (c *Cluster) admits(rules string, node *sched.Node) bool {
	s, ok := c.sets.nodes.get(rules)
	info := c.at(node)
	return !ok || info == nil || !s.refuse(info).Refuses()
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

// makeNodeSet returns the set of the nodes that rules admit, new if there is none. refuse
// returns why they refuse a node.
func (c *Cluster) makeNodeSet(rules string, refuse func(*nodeInfo) sched.Reason) *nodeSet {
	c.sets.Lock()
	defer c.sets.Unlock()
	if s, ok := c.sets.nodes.get(rules); ok {
		return s
	}
	all := map[string]*nodeInfo{}
	for e := range c.state.Entries() {
		if info := known(e); info != nil {
			all[e.Name()] = info
		}
	}
	s := newNodeSet(refuse, all)
	c.sets.nodes.put(rules, s)
	return s
}

// neighborsFor returns the count of the pods that match a pod's required affinity.
func (c *Cluster) neighborsFor(pod *Pod) *neighbors {
	if n, ok := c.sets.neighbors.get(pod.neighbors); ok {
		return n
	}
	c.sets.Lock()
	defer c.sets.Unlock()
	if n, ok := c.sets.neighbors.get(pod.neighbors); ok {
		return n
	}
	n := &neighbors{terms: pod.info.RequiredAffinityTerms}
	for e := range c.state.Entries() {
		for _, placed := range infoOf(e).Pods {
			if n.match(placed.GetPod()) {
				n.count.Add(1)
			}
		}
	}
	if c.sets.neighbors.put(pod.neighbors, n) || c.sets.byTopic == nil {
		c.sets.byTopic = map[sched.Topic][]*neighbors{}
	}
	for _, topic := range n.topics() {
		c.sets.byTopic[topic] = append(c.sets.byTopic[topic], n)
	}
	return n
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
func (s *tracked) countPod(pod *v1.Pod, node string, sign int64) {
	if len(s.byTopic)+len(s.crowdsByTopic) == 0 {
		return
	}
	s.topics = appendPlaced(s.topics[:0], pod)
	matching(s.topics, s.byTopic, pod, func(n *neighbors) { n.count.Add(sign) })
	matching(s.topics, s.crowdsByTopic, pod, func(c *crowd) { c.add(pod, node, int(sign)) })
}

// matching calls a function once for each value that has one of the topics and matches a pod.
func matching[T interface {
	comparable
	match(*v1.Pod) bool
}](topics []sched.Topic, byTopic map[sched.Topic][]T, pod *v1.Pod, do func(T)) {
	var done []T
	for _, topic := range topics {
		for _, one := range byTopic[topic] {
			if !slices.Contains(done, one) && one.match(pod) {
				do(one)
				done = append(done, one)
			}
		}
	}
}
