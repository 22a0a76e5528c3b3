// Package pool is the node's ledger of exclusive CPUs: which container of
// which pod holds which CPU, what is free, what is shared.
//
// It knows who holds what, and the order in which physical CPUs are taken;
// it refuses to touch cgroups, files or clocks. Same input, same output.
//
//	l, _ := pool.New(machine, pool.Options{Reserved: cpuset.Of(0)})
//	g, err := l.Reserve(pool.Pod{UID: "a", Policy: podspec.Spread,
//		Containers: []podspec.Container{{Name: "app", CPUs: 4}}})
//
// How many CPUs each container gets on each NUMA node is decided by package
// numaplan. From the outside in: ledger.go keeps the books, place.go asks the
// planner and turns its counts into CPU ids such that a CPU stays shared,
// offer.go says what one container may choose from, take.go and cores.go take the
// CPUs inside a NUMA node.
package pool
