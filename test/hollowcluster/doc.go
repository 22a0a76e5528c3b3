// Package hollowcluster is a cluster without machines, for tests and benchmarks. It has a
// real API server without nodes, which the rig starts, Node and NodeTopology objects
// without kubelets and agents, the programs under test as processes with their own
// accounts, and a counter of bound pods.
//
// It schedules, starts and deletes nothing unless the caller asks for it.
package hollowcluster
