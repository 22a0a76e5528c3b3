// Package filter decides exactly whether a pod fits a node, and computes its placement
// there: how many exclusive CPUs each container gets on each NUMA node, and which GPUs.
//
// It works on one pod and the record of one node. It does not search for nodes, which
// package distbucket does with an index. Dimension computes the coordinates for that
// index: if a pod fits a node, the node's coordinate is at least that of the pod in
// every dimension.
//
//	placement, reason := filter.Place(pod, node)
//	if reason.Refuses() { … }
package filter
