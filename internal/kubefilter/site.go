package kubefilter

import (
	"iter"
	"sync/atomic"

	"github.com/numalet/numalet/pkg/sched"
)

// site is a place where pods are: a node, or the name of one that is not known (yet, or
// any more) but has pods. Once it is neither, it is given up for good: who has kept it
// finds no info there, and looks for the name anew.
//
// The home of a node's records keeps the site, so that it need not be found by name for
// each pod that looks at the node. In a map of 100,000 names hardly anything on the way
// is in the processor's cache.
type site struct {
	cluster *Cluster
	name    string
	info    atomic.Pointer[nodeInfo] // read without the lock, written under it; nil once given up
}

// known returns the node's newest info, or nil where it is no node.
func (s *site) known() *nodeInfo {
	if s == nil {
		return nil
	}
	if info := s.info.Load(); info != nil && info.Node() != nil {
		return info
	}
	return nil
}

// node returns a node's newest info, or nil.
func (c *Cluster) node(name string) *nodeInfo { return c.named(name).known() }

// at returns the newest info of a record's node, or nil.
func (c *Cluster) at(node *sched.Node) *nodeInfo { return c.siteOf(node).known() }

// named returns the site of that name, or nil.
func (c *Cluster) named(name string) *site {
	if s, ok := c.sites.Load(name); ok {
		return s.(*site)
	}
	return nil
}

// siteOf returns the site of a record's node, or nil: the one that the record's home
// keeps, else the one of that name, which it keeps from now on.
func (c *Cluster) siteOf(node *sched.Node) *site {
	if node.Home == nil {
		return c.named(node.Name)
	}
	note := node.Home.Note()
	if s, ok := note.Load().(*site); ok && s.cluster == c && s.info.Load() != nil {
		return s
	}
	s := c.named(node.Name)
	if s != nil {
		note.Store(s)
	}
	return s
}

// all yields the sites, in any order.
func (c *Cluster) all() iter.Seq[*site] {
	return func(yield func(*site) bool) {
		c.sites.Range(func(_, s any) bool { return yield(s.(*site)) })
	}
}
