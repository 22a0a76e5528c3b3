// Package nodestate is the single owner of the cluster's state: the newest record of
// every node, the assignments of pods to nodes, the reservations of waiting pods, and
// the indexes that find nodes.
//
// It keeps this state consistent. It makes no decisions: package pipeline finds and
// assigns nodes. It knows no Kubernetes objects; adapters store their own data in the
// Foreign fields.
//
//	s, err := nodestate.New(filter.Profile{Space: space, Theta: theta})
//	s.Subscribe(filters.Observe)                  // for all events; before the first change
//	s.Subscribe(ledger.Observe, nodestate.Bound)  // for events of one kind
//	s.SetNode(node)                               // from the adapter, with everything free
//	ok := s.Place(pod, record, placement, seen)   // false: the record is not the newest
//	s.Adopt(assignment)                           // a pod is bound, by any scheduler
//
// # Invariants
//
// A pod is assigned to at most one node. The free resources in a node's record are the node's
// allocatable resources minus what its assignments hold. A record is immutable. Each change of a
// node makes a new record with a higher version, even if the node was removed and added again in
// between. A node has at most one reservation. A pod loses its reservations when it is assigned.
//
// # Who is notified when
//
// Every change of assignments and nodes is one Event. The state's lock is held while the
// subscribers of the event's kind are called, in the order in which they subscribed. So all
// subscribers see events in the same order. Subscribers are called before the node's record
// changes. The order for one event is
//
//	subscribers ─► freedSeq, if something becomes free ─► record ─► unlock ─► OnFreed
//
// Therefore, the data that filters keep in an Entry is never older than a record that was read
// before. If a record is still the newest, checks that used the record are still valid. When a pod
// ends, its tenant's quota becomes free before the node's resources do, and waiting pods are
// retried after both.
//
// A subscriber may take its own locks and call the queue (package queue). The lock order is state,
// subscriber, queue. Subscribers and the queue may call only FreedSeq, Narrow, Entry and Record of
// the state, which take no lock. Most other methods take the lock again and would deadlock.
//
// A record describes one node. But a change on one node may make pods unfit for another node, for
// example by anti-affinity. The subscriber that belongs to the filters then calls Narrow, and Place
// refuses decisions whose nodes were checked before that.
//
// Functions of OnFreed are called without a lock, because they check all waiting pods. They may run
// late, after another change. This is safe, because they only cause retries. Undo does not call
// them; otherwise a gang that cannot start would cause its own retry.
//
// # What a reader may see late
//
// A reader always gets the newest records, but the indexes may be older. A change only marks its
// node as stale. The next call of State.View updates the indexes, unless another goroutine is
// already doing so. So a change never waits for an index update, which takes several times as long
// as the change itself. If a node changes several times between two calls, the indexes are updated
// once. If only one goroutine calls View, its views contain every earlier change.
//
// An index finds a node, and the node's newest record decides whether it fits. So the only error
// that an old index can cause is to miss a node whose free resources have grown since.
// View.FreedSeq detects this: State.FreedSeq is then higher than that of the View in which no node
// was found, and the pod is retried. FreedSeq grows before the record changes, so there may be an
// unneeded retry, but no retry is missed.
//
// If Adopt moves a pod to another node, readers without the lock may briefly see it in the filters'
// data of both nodes, but never in that of neither.
package nodestate
