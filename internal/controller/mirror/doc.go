// Package mirror mirrors the API server's nodes, NodeTopologies and pods in the
// state of the nodes and in the queue of pending pods.
//
// It knows how Kubernetes' objects read as records, holdings and asks; it
// refuses to decide anything, and to remember what the API server does not say:
// a fresh one, told everything in any order, comes to the same.
//
//	m := mirror.NewMirror(mirror.Env{Center: center, Pending: queue.Add, …})
//	synced, err := mirror.Watch(factory, topologies, m)
package mirror
