// Package hollowcluster is a cluster without machines, for tests and measurements: a
// real API server that the rig starts alone, Node and NodeTopology objects that
// nobody stands behind, the programs under test as processes with an identity of
// their own, and a count of what becomes bound.
//
// Nothing is scheduled, started or collected unless the caller does it.
package hollowcluster
