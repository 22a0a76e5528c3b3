// Package hollowcluster simulates a cluster without machines, for tests and benchmarks. The API
// server is real; the program `rig` (test/cluster) starts it. There are Node and NodeTopology
// objects, but no kubelets and no agents. The programs under test run as processes with their own
// service accounts. The package also counts bound pods, and checks that no resource is assigned twice.
//
// The package schedules no pods, and deletes pods only if the caller asks for it.
package hollowcluster
