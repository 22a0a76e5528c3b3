package nodestate

import "github.com/numalet/numalet/pkg/sched"

// SetNode says what a node has: the record counts as all free, and its version
// and reservation are ignored. What pods hold there stays theirs.
func (c *Center) SetNode(base *sched.Node) { c.freed(c.setNode(base)) }

func (c *Center) setNode(base *sched.Node) *Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.makeEntry(base.Name)
	e.known = true
	record := *base
	record.Free, record.Reserved = base.Allocatable, nil
	if old := e.Newest(); old != nil {
		record.Reserved = old.Reserved
	}
	next := record.Copy()
	for _, a := range e.pods {
		next = next.Take(a.Holding)
	}
	c.emit(Event{Kind: NodeChanged, Entry: e, Node: next})
	c.freedSeq.Add(1)
	c.setRecord(e, next)
	return e
}

// RemoveNode forgets a node and what is reserved on it. Its pods keep what they
// hold until they are released, in case the node comes back.
func (c *Center) RemoveNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.Entry(name)
	if e == nil || !e.known {
		return
	}
	c.emit(Event{Kind: NodeChanged, Entry: e})
	if r := e.Newest().Reserved; r != nil {
		delete(c.mu.reserved[r.UID], name)
	}
	e.known = false
	c.setRecord(e, nil)
	c.deleteUnused(e)
}

// Reserve holds something back on a node for a pod, in place of what the node
// held back for it before. It is false where the node is not known, or holds
// something back for another.
func (c *Center) Reserve(uid, node string, h sched.Holding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.Entry(node)
	if e == nil || !e.known {
		return false
	}
	record := e.Newest()
	if record.Reserved != nil && record.Reserved.UID != uid {
		return false
	}
	if c.mu.reserved[uid] == nil {
		c.mu.reserved[uid] = map[string]bool{}
	}
	c.mu.reserved[uid][node] = true
	c.setRecord(e, record.Reserve(&sched.Reservation{UID: uid, Holding: h}))
	return true
}

// Unreserve gives up what is reserved for a pod, everywhere.
func (c *Center) Unreserve(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unreserve(uid)
}

// unreserve gives up what is reserved for a pod. It needs c.mu.
func (c *Center) unreserve(uid string) {
	for name := range c.mu.reserved[uid] {
		e := c.Entry(name)
		c.freedSeq.Add(1)
		c.setRecord(e, e.Newest().Reserve(nil))
	}
	delete(c.mu.reserved, uid)
}
