// Package filter decides exactly whether a pod fits a node, and computes its placement
// there: how many exclusive CPUs each container gets on each NUMA node, and which GPUs.
//
// Package filter works on one pod and the record of one node. Package distbucket
// searches for nodes, with an index of their free resources. The type Dimension
// computes the coordinates for this index: if a pod fits a node, the node's coordinate
// is at least as large as the pod's coordinate in every dimension.
//
//	placement, reason := filter.Place(pod, node)
//	if reason.Refuses() { … }
package filter
