// Package mirror copies nodes, NodeTopologies and pods from the API server. Nodes and bound pods go
// to the state of the nodes (package nodestate), and pending pods go to the queue.
//
// Package mirror knows how Kubernetes objects are converted to the types of the scheduler. It makes
// no decisions. With one exception, it keeps nothing that cannot be read from the API server. So a
// new mirror, for example of a replica that was just started, gets the same result, whatever the
// order of the events. The exception: a bound pod stays charged to the tenant with which the mirror
// first saw it, even if the label that names the tenant changes.
//
//	m := mirror.NewMirror(mirror.Env{State: state, Pending: queue.Add, …})
//	synced, newest, err := mirror.Watch(factory, topologies, m)
package mirror
