// Package pool is the ledger of a node's CPUs. It records which container of which pod holds which
// exclusive CPUs, which CPUs are free, and on which CPUs all other containers run (the shared
// CPUs).
//
// It also decides which CPUs, by id, a container gets. It is deterministic, and uses no cgroups,
// files or clocks.
//
//	l, _ := pool.New(machine, pool.Options{Reserved: cpuset.Of(0)})
//	g, err := l.Reserve(pool.Pod{UID: "a", Policy: podspec.Spread,
//		Containers: []podspec.Container{{Name: "app", CPUs: 4}}})
//
// Package numaplan decides how many CPUs each container gets on each NUMA node. In this package,
// ledger.go keeps what pods hold. place.go calls numaplan and turns its counts into CPU ids.
// offer.go computes which CPUs a container may get. take.go and cores.go choose CPUs within a NUMA
// node.
package pool
