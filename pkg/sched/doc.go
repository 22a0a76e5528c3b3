// Package sched defines the types of the cluster scheduler: a node's record, a
// pod's request, a placement, and the reason why a node is refused.
//
// It computes what a pod takes from a node and how the node's record changes. It
// does not choose: package filter places a pod on a node, and package distbucket
// finds nodes. It does not know Kubernetes types, clocks or locks.
//
//	next := node.Take(sched.Hold(pod, placement)) // a new record with the next version
package sched
