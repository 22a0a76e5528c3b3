// Package pool is the ledger of a node's CPUs. It records which container of which pod holds which
// exclusive CPUs, which CPUs are free, and on which CPUs all other containers run (the shared
// CPUs).
//
// The package also chooses the ids of the CPUs that a container gets. The choice is deterministic.
// The package uses no cgroups, files or clocks.
//
//	l, _ := pool.New(machine, pool.Options{Reserved: cpuset.Of(0)})
//	g, err := l.Reserve(pool.Pod{UID: "a", Policy: podspec.Spread,
//		Containers: []podspec.Container{{Name: "app", CPUs: 4}}})
//
// Package numaplan decides how many CPUs each container gets on each NUMA node. In this package,
// ledger.go records the CPUs that pods hold. place.go calls numaplan, and chooses as many CPU ids
// on each NUMA node as numaplan has decided. offer.go computes which CPUs a container may get.
// take.go and cores.go choose CPUs within a NUMA node.
package pool
