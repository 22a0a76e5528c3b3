package nodestate

import "github.com/numalet/numalet/pkg/sched"

// These methods need c.mu.

// site returns the site of that name, made if there is none.
func (c *Center) site(name string) *site {
	s, ok := c.mu.sites[name]
	if !ok {
		s = newSite(name)
		c.mu.sites[name] = s
	}
	return s
}

// tidy forgets a site that is neither a node nor holds pods. The indexes still
// learn that it is gone.
func (c *Center) tidy(s *site) {
	if !s.known && len(s.pods) == 0 {
		delete(c.mu.sites, s.name)
	}
}

// settle enters a pod at a site.
func (c *Center) settle(now *stay) {
	c.unreserve(now.uid)
	c.mu.stays[now.uid] = now
	now.site.add(now)
	if record := now.site.slot.Newest(); record != nil {
		c.enter(now.site, record.Take(now.Holding))
	}
}

// leave gives back what a pod holds.
func (c *Center) leave(old *stay) {
	delete(c.mu.stays, old.uid)
	old.site.remove(old)
	c.mu.gains++
	if record := old.site.slot.Newest(); record != nil {
		c.enter(old.site, record.Return(old.Holding))
	}
	c.tidy(old.site)
}

// add enters a pod among the site's.
func (s *site) add(p *stay) {
	p.at = len(s.pods)
	s.pods = append(s.pods, p)
}

// remove takes a pod out, and puts the last one in its place. O(1).
func (s *site) remove(p *stay) {
	last := len(s.pods) - 1
	s.pods[p.at], s.pods[last].at = s.pods[last], p.at
	s.pods[last] = nil
	s.pods = s.pods[:last]
}

// unreserve gives up what is reserved for a pod.
func (c *Center) unreserve(uid string) {
	for name := range c.mu.holds[uid] {
		s := c.mu.sites[name]
		c.mu.gains++
		c.enter(s, s.slot.Newest().Reserve(nil))
	}
	delete(c.mu.holds, uid)
}

// enter makes a record, or none, the newest of a site, and notes that the
// indexes do not know it. Its version is one more than the last one's; a node
// that is new, or back, starts above any that it ever had, for all records
// together changed at least as often as that one.
func (c *Center) enter(s *site, record *sched.Node) {
	c.mu.changes++
	if record != nil {
		record.Version, record.Home = c.mu.changes, s
		if old := s.slot.Newest(); old != nil {
			record.Version = old.Version + 1
		}
	}
	s.slot.newest.Store(record)
	if !s.waits {
		s.waits = true
		c.mu.waiting = append(c.mu.waiting, s)
	}
	c.stale.Store(true)
}
