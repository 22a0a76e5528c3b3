// Package sched has the nouns of the cluster's scheduler: a node's record, a
// pod's request, a placement, and why a node is refused.
//
// It knows what a pod takes from a node and how a record changes by it; it
// refuses to choose (package filter places a pod on a node, package distbucket finds
// nodes) and to know Kubernetes' types, clocks and locks.
//
//	next := node.Take(sched.Hold(pod, placement)) // a new record, one version on
package sched
