// Package filter decides exactly whether a pod fits a node, and computes its placement
// there: how many exclusive CPUs each container gets on each NUMA node, and which GPUs.
//
// It works on one pod and one node record, and does not search for nodes. Dimension
// computes coordinates for an index that does: if a pod fits, no coordinate of the node
// is below that of the pod.
//
//	placement, reason := filter.Place(pod, node)
//	if reason.Refuses() { … }
package filter
