package kubefilter

import (
	"iter"
	"sync/atomic"

	"github.com/numalet/numalet/pkg/sched"
)

// site is a place where pods are: a node, or the name of one that is not known (yet, or
// any more) but has pods. Once it is neither, it is given up for good.
//
// The home of a node's records has the newest info too, so that it need not be found by
// name for each pod that looks at the node: in a map of 100,000 names hardly anything on
// the way is in the processor's cache.
type site struct {
	name string
	info atomic.Pointer[nodeInfo] // read without the lock, written under it; nil once given up
	home sched.Home               // which has the info too, or nil; needs the lock
}

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
		return s.info.Load().known()
	}
	return nil
}

// at returns the newest info of a record's node, or nil: the one that the record's home
// has, else the one found by name.
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
