// Package pool is the node's ledger of exclusive CPUs: which container of
// which pod holds which CPU, what is free, what is shared.
//
// It knows the three policies and the order in which physical CPUs are taken;
// it refuses to touch cgroups, files or clocks. Same input, same output.
//
//	l, _ := pool.New(machine, pool.Options{Reserved: cpuset.Of(0)})
//	g, err := l.Reserve(pool.Pod{UID: "a", Policy: pool.Spread,
//		Containers: []pool.Want{{Container: "app", CPUs: 4}}})
//
// From the outside in: ledger.go keeps the books, place.go places a pod so that
// a CPU stays shared, plan.go its containers one by one, offer.go a container by
// its policy (spread.go, single.go, random.go, explicit.go), take.go and
// cores.go take the CPUs inside a NUMA node.
package pool
