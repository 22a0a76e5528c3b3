package center

import "github.com/numalet/numalet/pkg/sched"

// These methods need c.mu.

// site returns the site of that name, made if there is none.
func (c *Center) site(name string) *site {
	s, ok := c.mu.sites[name]
	if !ok {
		s = &site{name: name, pods: map[string]*sched.Holding{}}
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
func (c *Center) settle(uid string, at stay) {
	c.unreserve(uid)
	c.mu.stays[uid] = at
	at.site.pods[uid] = at.Holding
	if record := at.site.slot.Newest(); record != nil {
		c.enter(at.site, record.Take(*at.Holding))
	}
}

// leave gives back what a pod holds.
func (c *Center) leave(uid string, old stay) {
	delete(c.mu.stays, uid)
	delete(old.site.pods, uid)
	c.mu.gains++
	if record := old.site.slot.Newest(); record != nil {
		c.enter(old.site, record.Return(*old.Holding))
	}
	c.tidy(old.site)
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
