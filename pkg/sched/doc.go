// Package sched defines the types of the cluster scheduler: a node's record, a
// pod's request, a placement, and the reason why a node is refused.
//
// It computes what a pod takes from a node and how the node's record changes. It chooses neither
// nodes nor CPUs: package distbucket finds nodes for a pod, and package filter places the pod on a
// node. It uses no Kubernetes types, clocks or locks.
//
//	next := node.Take(sched.Hold(pod, placement)) // a new record with the next version
package sched
