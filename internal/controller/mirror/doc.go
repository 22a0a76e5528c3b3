// Package mirror copies nodes, NodeTopologies and pods from the API server to the state
// of the nodes and the queue of pending pods.
//
// It knows how Kubernetes objects convert to node records, holdings and requests. It
// makes no decision and keeps nothing that the API server does not store, so a new mirror
// reaches the same state whatever the order of events.
//
//	m := mirror.NewMirror(mirror.Env{State: state, Pending: queue.Add, …})
//	synced, newest, err := mirror.Watch(factory, topologies, m)
package mirror
