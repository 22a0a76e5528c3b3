package nodestate

import "github.com/numalet/numalet/pkg/sched"

// SetNode tells what a node has: the record counts as all free, and its version
// and reservation are ignored. What pods hold there stays theirs.
func (c *Center) SetNode(base *sched.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.site(base.Name)
	s.known = true
	record := *base
	record.Free, record.Reserved = base.Allocatable, nil
	if old := s.slot.Newest(); old != nil {
		record.Reserved = old.Reserved
	}
	next := record.Copy()
	for _, p := range s.pods {
		next = next.Take(p.Holding)
	}
	c.mu.gains++
	c.enter(s, next)
}

// RemoveNode forgets a node and what is reserved on it. Its pods keep what they
// hold until they are released, in case the node comes back.
func (c *Center) RemoveNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.mu.sites[name]
	if !ok || !s.known {
		return
	}
	if r := s.slot.Newest().Reserved; r != nil {
		delete(c.mu.holds[r.UID], name)
	}
	s.known = false
	c.enter(s, nil)
	c.tidy(s)
}

// Reserve holds something back on a node for a pod, in place of what the node
// held back for it before. It is false where the node is not known, or holds
// something back for another.
func (c *Center) Reserve(uid, node string, h sched.Holding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.mu.sites[node]
	if !ok || !s.known {
		return false
	}
	record := s.slot.Newest()
	if record.Reserved != nil && record.Reserved.UID != uid {
		return false
	}
	if c.mu.holds[uid] == nil {
		c.mu.holds[uid] = map[string]bool{}
	}
	c.mu.holds[uid][node] = true
	c.enter(s, record.Reserve(&sched.Reservation{UID: uid, Holding: h}))
	return true
}

// Unreserve gives up what is reserved for a pod, everywhere.
func (c *Center) Unreserve(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unreserve(uid)
}
