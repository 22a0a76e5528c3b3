// Package mirror copies nodes, NodeTopologies and pods from the API server. Nodes and bound pods go
// to the state of the nodes (package nodestate), and pending pods go to the queue.
//
// Package mirror knows how Kubernetes objects are converted to the types of the scheduler. It makes
// no decisions. It keeps nothing that cannot be read from the API server. So a new mirror, for
// example of a replica that was just started, gets the same result, whatever the order of the
// events.
//
//	m := mirror.NewMirror(mirror.Env{State: state, Pending: queue.Add, …})
//	synced, newest, err := mirror.Watch(factory, topologies, m)
package mirror
