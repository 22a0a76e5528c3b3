// Package oracle compares package cpuset/pool, which chooses exclusive CPUs, with the kubelet's
// static CPU manager. On random machines with random CPUs in use, the pool's choice must be at
// least as good as the kubelet's. The two choose CPUs in different orders on purpose. So the tests
// do not compare the CPUs, but properties of the choice, such as the number of CPUs and of whole
// cores.
//
// The package is a module of its own because k8s.io/kubernetes is large. To run it:
//
//	cd test/oracle && go test ./...
package oracle
