package center

import (
	"maps"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/bucket"
)

// These methods need c.mu.

// site returns the site of that name, made if there is none.
func (c *Center) site(name string) *site {
	s, ok := c.mu.sites[name]
	if !ok {
		s = &site{pods: map[string]sched.Holding{}}
		c.mu.sites[name] = s
	}
	return s
}

// tidy forgets a site that is neither a node nor holds pods.
func (c *Center) tidy(name string) {
	if s := c.mu.sites[name]; s.base == nil && len(s.pods) == 0 {
		delete(c.mu.sites, name)
	}
}

// settle enters a pod at a site.
func (c *Center) settle(uid string, s *site, at stay) {
	c.mu.stays[uid] = at
	s.pods[uid] = at.Holding
	if s.record != nil {
		c.enter(s, s.record.Take(at.Holding))
	}
}

// leave gives back what a pod holds.
func (c *Center) leave(uid string, old stay) {
	s := c.mu.sites[old.node]
	delete(c.mu.stays, uid)
	delete(s.pods, uid)
	c.mu.gains++
	if s.record != nil {
		c.enter(s, s.record.Return(old.Holding))
	}
	c.tidy(old.node)
}

// enter makes a record the newest of its site. Its version is one more than the
// last one's; a node that is new, or back, starts above any that it ever had,
// for all records together changed at least as often as that one.
func (c *Center) enter(s *site, record *sched.Node) {
	old := s.record
	c.mu.changes++
	record.Version = c.mu.changes
	if old != nil {
		record.Version = old.Version + 1
	}
	s.record = record
	for i, index := range c.mu.indexes {
		node := bucket.Node{Name: record.Name, Free: c.profiles[i].Space.Node(record), Record: record}
		if old == nil {
			must(index.Add(node))
		} else {
			must(index.Update(node))
		}
	}
	c.stale.Store(true)
}

// must asserts what the centre guarantees: what it updates in an index is
// there, what it adds is not, and no coordinate is negative.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func equal(a, b sched.Holding) bool {
	return a.CPU == b.CPU && a.Memory == b.Memory && a.Pods == b.Pods && maps.Equal(a.Extended, b.Extended) &&
		slices.Equal(a.NUMA, b.NUMA) && slices.Equal(a.GPUs, b.GPUs)
}
