package filters

import (
	"iter"
	"sync/atomic"

	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// site is a place where pods are: a node, or the name of one that is not known (yet, or
// any more) but has pods. Once it is neither, it is given up for good.
//
// The newest info of a node is with the home of its records, once a pod has looked at
// one: it need then not be found by name for each pod that looks at the node, and in a
// map of 100,000 names hardly anything on the way is in the processor's cache.
type site struct {
	name string
	slot atomic.Pointer[atomic.Value] // has the newest info: own, or a home's Note; changed under the lock
	own  atomic.Value
}

// newSite returns a site that is not a node and has no pods.
func newSite(name string, of *Cluster) *site {
	s := &site{name: name}
	s.slot.Store(&s.own)
	s.own.Store((&nodeInfo{site: s, slot: &s.own, of: of}).with(framework.NewNodeInfo()))
	return s
}

// newest returns the newest info, or nil once the site is given up.
func (s *site) newest() *nodeInfo {
	for {
		slot := s.slot.Load()
		info := slot.Load().(*nodeInfo)
		if s.slot.Load() == slot {
			return info
		}
	}
}

// move gives the newest info another slot, unless that has one already, of another
// cluster: its owner keeps it.
func (s *site) move(to *atomic.Value) {
	old := s.slot.Load()
	info := s.newest()
	info = info.with(&info.NodeInfo)
	info.slot = to
	if to.CompareAndSwap(nil, info) || to.CompareAndSwap(gone, info) {
		s.slot.Store(to)
		old.Store(gone)
	}
}

// gone is in a slot that no site has.
var gone *nodeInfo

// known returns the info where it is that of a node, else nil.
func (n *nodeInfo) known() *nodeInfo {
	if n == nil || n.Node() == nil {
		return nil
	}
	return n
}

// node returns a node's newest info, or nil.
func (c *Cluster) node(name string) *nodeInfo {
	if s := c.named(name); s != nil {
		return s.newest().known()
	}
	return nil
}

// at returns the newest info of a record's node, or nil: the one that the record's home
// has, else the one found by name, which the home has from then on.
func (c *Cluster) at(node *sched.Node) *nodeInfo {
	if node.Home == nil {
		return c.node(node.Name)
	}
	if info := c.noted(node); info != nil {
		return info.known()
	}
	return c.find(node).known()
}

// noted returns the info that the home of a record has of this cluster's, or nil.
func (c *Cluster) noted(node *sched.Node) *nodeInfo {
	if node.Home == nil {
		return nil
	}
	if info, _ := node.Home.Note().Load().(*nodeInfo); info != nil && info.of == c {
		return info
	}
	return nil
}

// named returns the site of that name, or nil.
func (c *Cluster) named(name string) *site {
	if s, ok := c.sites.Load(name); ok {
		return s.(*site)
	}
	return nil
}

// all yields the sites, in any order.
func (c *Cluster) all() iter.Seq[*site] {
	return func(yield func(*site) bool) {
		c.sites.Range(func(_, s any) bool { return yield(s.(*site)) })
	}
}
