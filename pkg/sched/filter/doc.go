// Package filter says whether a pod fits a node, exactly, and how it would fall
// on the node: how many exclusive CPUs each container gets on each NUMA node,
// and which cards.
//
// It knows one pod and one node record; it refuses to look for nodes. Dimension
// turns both into coordinates by which an index can: where a pod fits, no
// coordinate of the node is below that of the pod.
//
//	placement, reason := filter.Place(pod, node)
//	if reason.Refuses() { … }
package filter
