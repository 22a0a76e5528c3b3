// Package nodestate is the single owner of the cluster's state: the newest record of
// every node, the assignments of pods to nodes, the reservations of waiting pods, and
// the indexes that find nodes.
//
// It keeps this state consistent. It makes no decisions: package pipeline finds and
// assigns nodes. It knows no Kubernetes objects; adapters store their own data in the
// Foreign fields.
//
//	s, err := nodestate.New(filter.Profile{Space: space, Theta: theta})
//	s.Subscribe(filters.Observe)                   // before the first change
//	s.Subscribe(ledger.Observe, nodestate.Bound)  // only of some kinds
//	s.SetNode(node)                               // from the adapter, with everything free
//	ok := s.Place(pod, record, placement, seen)   // false: the record is not the newest
//	s.Adopt(assignment)                           // a pod is bound, by any scheduler
//
// # Invariants
//
// A pod is assigned to at most one node. Free resources in a node's record are the node's
// allocatable resources minus those of its assignments. A record is immutable. Each change
// makes a new record with a higher version, even if the node was removed and came back. A
// node has at most one reservation. A pod loses its reservations when it is assigned.
//
// # Who is notified when
//
// Every change of assignments and nodes is one Event. All subscribers see the events of
// their kinds in the same order, and each event is delivered in the order of subscription,
// under the state's lock. Subscribers are called before the record changes, so the order for one
// event is
//
//	subscribers ─► freedSeq, if something becomes free ─► record ─► unlock ─► OnFreed
//
// Therefore the data that filters keep in an Entry is never older than a record read at
// the same time. If a record is still the newest, what was checked with it still holds. A
// quota is released before the node's resources are, and pods are retried after both.
//
// A subscriber must not call the state: it would deadlock. It may take its own locks and
// call the queue. The lock order is state, subscriber, queue. Subscribers and the queue
// may call only FreedSeq, Narrow, Entry and Record of the state, which take no lock.
//
// A record describes one node. But a change on one node may make pods unfit for another node, for
// example by anti-affinity. The filter's subscriber then calls Narrow, and Place refuses decisions
// that were checked before.
//
// OnFreed is called without a lock because it checks waiting pods. It may run late or after
// another change. This is safe, because it only causes retries. Undo does not call
// OnFreed; otherwise a gang that cannot start would cause its own retry.
//
// # What a reader may see late
//
// Records are always the newest. Indexes lag: a change only marks its node as stale, and
// the next View updates the indexes, unless another goroutine is already doing so. So the
// assignment of a node never waits for an index update, which takes several times as long as the
// change itself. Nodes that change often are indexed less often. A single reader sees every change.
//
// The index finds a node, and the node's newest record decides whether it fits. A stale
// index can only miss a node whose free resources grew since. View.FreedSeq detects this:
// State.FreedSeq is then higher than that of the View in which no node was found, and the
// pod is retried. FreedSeq grows before the record changes, so it may cause an unneeded
// retry, but never a missed one.
//
// Readers without the lock may briefly see a moving pod on both nodes, but never on none.
package nodestate
