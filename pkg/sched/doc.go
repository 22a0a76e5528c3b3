// Package sched defines the types of the cluster scheduler: a node's record, a
// pod's request, a placement, and the reason why a node is refused.
//
// The package computes which resources a pod takes from a node, and how the node's record changes.
// It chooses neither nodes nor CPUs: package distbucket finds nodes for a pod, and package filter
// chooses the pod's CPUs and GPUs on a node. Package sched uses no Kubernetes types, clocks or
// locks.
//
//	next := node.Take(sched.Hold(pod, placement)) // a new record with the next version
package sched
