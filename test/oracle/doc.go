// Package oracle compares package cpuset/pool with the kubelet's static CPU manager: on
// random machines with random CPUs taken, the pool must do at least as well as the kubelet.
// Their orders of choice differ on purpose, so the tests compare figures (count, evenness,
// whole cores) and never the CPUs.
//
// It is a module of its own because k8s.io/kubernetes is large. To run it:
//
//	cd test/oracle && go test ./...
package oracle
