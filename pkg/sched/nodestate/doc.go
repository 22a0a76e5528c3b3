// Package nodestate is the single owner of the cluster's state: the newest record of
// every node, the assignments of pods to nodes, the reservations of waiting pods, and
// the indexes that find nodes.
//
// The package keeps this state consistent. It makes no decisions: package pipeline finds and
// assigns nodes. It knows no Kubernetes objects: the code that translates Kubernetes objects stores
// its own data in the fields named Foreign.
//
//	s, err := nodestate.New(filter.Profile{Space: space, Theta: theta})
//	s.Subscribe(filters.Observe)                  // for all events; before the first change
//	s.Subscribe(ledger.Observe, nodestate.Bound)  // for events of one kind
//	s.SetNode(node)                               // the node as it would be without pods
//	ok := s.Place(pod, record, placement, seen)   // false: the record is not the newest
//	s.Adopt(assignment)                           // a pod is bound, by any scheduler
//
// # Invariants
//
// A pod is assigned to at most one node. The free resources in a node's record are the node's
// allocatable resources minus what its assignments hold. A record is immutable. Each change of a
// node makes a new record with a higher version, even if the node was removed and added again in
// between. A node has at most one reservation. When a pod is assigned, the reservations whose key is
// the pod's UID are released.
//
// # Who is notified when
//
// Every change of assignments and nodes is one Event. A change of reservations causes no event. The
// subscribers of the event's kind are called in the order in which they subscribed, while the
// state's lock is held. So all subscribers see events in the same order. Subscribers are called
// before the node's record changes. If resources may have become free, the method of the state that
// makes the change also increases the counter freedSeq. At the end, this method calls the functions
// that were added with OnFreed, which retry waiting pods. (It does not call them if only a
// reservation was released. Undo does not call them either; see below.) The order for one event is
//
//	subscribers ─► freedSeq, if something becomes free ─► record ─► unlock ─► OnFreed
//
// Filters keep their own data about a node, such as the node's labels, in the node's Entry. A
// subscriber updates this data. Therefore, if a reader reads a record first and then the filters'
// data in the Entry, the data is never older than the record. The data may be newer than the record.
// But an event that changes the node, or what is free on it, also makes a newer record, and Place
// accepts only the newest record. So if Place accepts the record with which a pod was checked, the
// result of this check is still valid, as far as it depends on this node only. When a pod ends,
// first its tenant's quota becomes free, then the node's resources become free, and then waiting
// pods are retried.
//
// A subscriber may take its own locks and call the queue (package queue). The lock order is state,
// subscriber, queue. Subscribers and the queue may call only methods of the state that take no
// lock, such as FreedSeq, Narrow, Entry, Record and CouldHold. Most other methods take the state's
// lock again and would deadlock.
//
// A record describes one node. But a change on one node may make pods unfit for another node, for
// example by anti-affinity. The subscriber that updates the filters' data then calls the method
// Narrow. After that, Place refuses decisions whose nodes were checked before the call of Narrow.
//
// Functions that were added with OnFreed are called without a lock, because they check all waiting
// pods, which takes long. They may run late, after another change. This is safe, because they only
// cause retries.
// Undo, which removes the assignment of a pod that was not bound, does not call them. The reason is
// that the pods of a gang are placed one after another, and if too few of them fit, all are undone.
// The resources that Undo frees are those that the gang has just taken. If Undo called the
// functions, a gang that cannot start would cause its own retry.
//
// # What a reader may see late
//
// A reader always gets the newest records, but the indexes may be older. A change of a node only
// marks the node as stale. The next call of State.View updates the indexes, unless another
// goroutine is already updating them. So a change never waits for an index update, which takes
// several times as long as the change itself. If a node changes several times between two calls of
// State.View, the indexes are updated once. If only one goroutine calls View, its views contain
// every earlier change.
//
// An index finds a node, and the node's newest record decides whether a pod fits it. So the only
// error that an old index can cause is to miss a node that was added, or whose free resources have
// grown, since the last index update. FreedSeq detects this error: if State.FreedSeq is higher than
// the FreedSeq of the View in which no node was found, the pod is retried. FreedSeq grows before
// the record changes, so there may be an unneeded retry, but no retry is missed.
//
// If Adopt moves a pod to another node, readers without the lock may briefly see the pod in the
// filters' data of both nodes. But there is no moment at which they see it in neither, so no filter
// misses the pod.
package nodestate
