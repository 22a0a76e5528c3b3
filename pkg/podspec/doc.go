// Package podspec is what a pod asks for in neutral terms: the one form that
// everybody uses, from the API server's objects to the node's ledger.
//
// It knows policies, kinds of containers, counts of CPUs per NUMA node and the
// phases of a pod's life. It refuses to know Kubernetes' types (package
// api/v1alpha1 translates them) and to decide anything.
package podspec
