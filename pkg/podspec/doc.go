// Package podspec has the types of a pod's request for exclusive CPUs. The scheduler and the node
// agent both use them.
//
// It has policies, kinds of containers, numbers of CPUs per NUMA node, and the rule which
// containers run at the same time. It has no Kubernetes types; package api/v1alpha1 reads the
// request from those. It makes no decisions.
package podspec
