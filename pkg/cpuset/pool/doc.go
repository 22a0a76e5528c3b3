// Package pool is the node's ledger of exclusive CPUs. It records which container of which
// pod holds which CPUs, which CPUs are free, and which are shared.
//
// It also decides which physical CPUs a container gets. It uses no cgroups, files or
// clocks, and is deterministic.
//
//	l, _ := pool.New(machine, pool.Options{Reserved: cpuset.Of(0)})
//	g, err := l.Reserve(pool.Pod{UID: "a", Policy: podspec.Spread,
//		Containers: []podspec.Container{{Name: "app", CPUs: 4}}})
//
// Package numaplan decides how many CPUs each container gets on each NUMA node. In this
// package, from the outside in, ledger.go keeps the grants; place.go calls the planner and
// turns its counts into CPU ids, so that a CPU stays shared; offer.go computes what a
// container may choose from; take.go and cores.go take CPUs within a NUMA node.
package pool
