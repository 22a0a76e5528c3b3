// Package oracle holds package cpuset/pool against the kubelet's static CPU
// manager: on random machines and fills, what the kubelet can do the ledger
// does at least as well. The orders in which both choose differ on purpose, so
// the figures are compared (count, evenness, whole cores), never the CPUs.
//
// It is a module of its own because k8s.io/kubernetes is heavy: run it with
//
//	cd test/oracle && go test ./...
package oracle
