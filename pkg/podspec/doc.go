// Package podspec has the types of a pod's request for exclusive CPUs. The scheduler and the node
// agent both use them.
//
// The package has policies, kinds of containers, numbers of CPUs per NUMA node, and the rule that
// says which containers run at the same time. It has no Kubernetes types: package api/v1alpha1
// reads a request from a Kubernetes pod. The package decides neither which node nor which CPUs a
// pod gets.
package podspec
