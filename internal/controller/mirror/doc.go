// Package mirror copies nodes, NodeTopologies and pods from the API server. Nodes and bound pods go
// to the state of the nodes (package nodestate), and pending pods go to the queue.
//
// It knows how Kubernetes objects are converted to the types of the scheduler. It makes no
// decisions. It keeps nothing that the API server does not store, so a new mirror gets the same
// result, whatever the order of the events.
//
//	m := mirror.NewMirror(mirror.Env{State: state, Pending: queue.Add, …})
//	synced, newest, err := mirror.Watch(factory, topologies, m)
package mirror
