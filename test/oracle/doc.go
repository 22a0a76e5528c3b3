// Package oracle compares package cpuset/pool with the kubelet's static CPU manager: on random
// machines with random CPUs in use, the pool's choice must be at least as good as the
// kubelet's. Their orders of choice differ on purpose, so the tests compare figures (count,
// evenness, whole cores) and never the CPUs.
//
// It is a module of its own because k8s.io/kubernetes is large. To run it:
//
//	cd test/oracle && go test ./...
package oracle
