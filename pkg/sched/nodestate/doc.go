// Package nodestate is the one book of the cluster's state: the newest record of every
// node, the assignments of pods to nodes, the reservations of pods that wait, and the
// indexes by which nodes are found.
//
// It knows what is true now, and keeps it consistent. It refuses to decide (package
// pipeline finds nodes, and gives them away), and knows nothing of Kubernetes' objects:
// what an adapter wants to find again travels in the Foreign fields.
//
//	s, err := nodestate.New(nodestate.Profile{Space: space, Theta: theta})
//	s.Subscribe(filters.Observe, quotas.Observe)  // before the first change
//	s.SetNode(node)                               // as the adapter sees it, all of it free
//	ok := s.Place(pod, record, placement)         // false: the record is not the newest
//	s.Adopt(assignment)                           // a pod is bound, whoever decided it
//
// # Invariants
//
// A pod is assigned to one node at most. What is free on a node's record is what the node
// has less what its assignments hold. A record is immutable; each change makes a new one
// with a higher version, also across a node's removal and return. A node holds at most one
// reservation, which a pod that is assigned gives up.
//
// # Who is notified when
//
// Every change of assignments and nodes is one Event. All subscribers see all events in
// one order, each event in the order of subscription, under the state's lock. They are
// called before the record changes, so for one event
//
//	subscribers ─► freedSeq, if something becomes free ─► record ─► unlock ─► OnFreed
//
// Therefore what filters keep with an Entry is never older than the record that is read
// in the same moment, and a record that is still the newest proves that what was checked
// with it still holds. A quota counts as given back before the node counts as free, and
// no pod is tried again before both are.
//
// A subscriber must not call the state, which would wait for itself. It may take locks of
// its own and call the queue: the order of locks is state, subscriber, queue, and neither
// of the latter two calls the state but for FreedSeq, Entry and Record, which take no lock.
// OnFreed is called without a lock, for it looks at all pods that wait; it may come late,
// and another change may come between, which is safe: it only has pods tried again.
// Undo has nobody tried again. A gang that is tried in vain would help itself.
//
// # What a reader may see late
//
// Records are always the newest. Indexes lag: a change only marks its node, and the next
// View brings the indexes up to date, unless another goroutine is at it. Hence giving nodes
// away never waits for an index, which costs several times the change itself; nodes that
// change often are indexed less often; and a single reader sees everything.
//
// A node is found by the index and accepted by its newest record. A stale index can only
// miss a node whose free resources grew since, and View.FreedSeq detects that: State.FreedSeq
// is then higher than that of the View by which no node was found, and the pod is tried
// again. FreedSeq grows before the record does, so it may report too much, never too little.
//
// Readers without the lock may see a pod that moves on both nodes for a moment, and never
// on none.
package nodestate
