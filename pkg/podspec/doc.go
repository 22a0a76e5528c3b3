// Package podspec has the CPU request of a pod in neutral terms. All packages use this form,
// from the API server's objects to the node's ledger.
//
// It knows policies, kinds of containers, counts of CPUs per NUMA node and the
// phases of a pod's life. It does not know Kubernetes' types (package api/v1alpha1 translates
// them), and decides nothing.
package podspec
