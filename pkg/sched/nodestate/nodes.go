package nodestate

import "github.com/numalet/numalet/pkg/sched"

// SetNode adds or changes a node. The argument `base` is a record of the node as it would be without
// pods: its NUMA nodes and GPUs are free. Its fields Free, Version, Reserved and Source are ignored:
// the state keeps the node's reservation, and computes what is free from `base` and the assignments.
func (s *State) SetNode(base *sched.Node) { s.freed(s.setNode(base)) }

func (s *State) setNode(base *sched.Node) *Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.makeEntry(base.Name)
	e.known = true
	s.capacity.set(base.Name, base.Allocatable)
	record := *base
	record.Free, record.Reserved = base.Allocatable, nil
	if old := e.Newest(); old != nil {
		record.Reserved = old.Reserved
	}
	next := record.Copy()
	for _, a := range e.pods {
		next = next.Take(a.Holding)
	}
	s.emit(Event{Kind: NodeChanged, Entry: e, Node: next})
	s.freedSeq.Add(1)
	s.setRecord(e, next)
	return e
}

// RemoveNode removes a node and its reservation. The node's assignments stay until they are
// released, in case the node is added again.
func (s *State) RemoveNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.Entry(name)
	if entry == nil || !entry.known {
		return
	}
	s.emit(Event{Kind: NodeChanged, Entry: entry})
	if r := entry.Newest().Reserved; r != nil {
		delete(s.mu.reserved[r.UID], name)
	}
	entry.known = false
	s.capacity.remove(name)
	s.setRecord(entry, nil)
	s.deleteUnused(entry)
}

// Reserve reserves resources on nodes for a pod or gang. The parameter `uid` is the key that
// sched.Pod.Claim returns for the pod, or for a pod of the gang. The parameter `on` has what is
// reserved on each node. It replaces everything that was reserved with the same key. At no moment is
// less reserved than both before and after the call. Reserve returns false and changes nothing if a
// node is unknown, or reserved with another key.
func (s *State) Reserve(uid string, on map[string]sched.Holding) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for node := range on {
		entry := s.Entry(node)
		if entry == nil || !entry.known {
			return false
		}
		if r := entry.Newest().Reserved; r != nil && r.UID != uid {
			return false
		}
	}
	before := s.mu.reserved[uid]
	s.mu.reserved[uid] = map[string]bool{}
	for node, holding := range on {
		if before[node] {
			s.freedSeq.Add(1) // less than before may be reserved
		}
		delete(before, node)
		s.mu.reserved[uid][node] = true
		entry := s.Entry(node)
		s.setRecord(entry, entry.Newest().Reserve(&sched.Reservation{UID: uid, Holding: holding}))
	}
	s.unreserveNodes(before)
	return true
}

// Unreserve releases the reservations of a pod or gang on all nodes. The parameter `uid` is the
// same key as for Reserve.
func (s *State) Unreserve(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreserve(uid)
}

// unreserve does the work of Unreserve. The caller must hold s.mu.
func (s *State) unreserve(uid string) {
	s.unreserveNodes(s.mu.reserved[uid])
	delete(s.mu.reserved, uid)
}

// unreserveNodes removes the reservations of the given nodes. The caller must hold s.mu.
func (s *State) unreserveNodes(nodes map[string]bool) {
	for name := range nodes {
		entry := s.Entry(name)
		s.freedSeq.Add(1)
		s.setRecord(entry, entry.Newest().Reserve(nil))
	}
}
