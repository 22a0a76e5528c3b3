package pool_test

import (
	"fmt"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/podspec"
)

func ExampleLedger() {
	machine := machinetest.Machine(2, 4).SMT(2).Build()
	l, err := pool.New(machine, pool.Options{Reserved: cpuset.Of(0, 8)})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := l.Reserve(pool.Pod{
		UID: "a", Policy: podspec.Spread,
		Containers: []podspec.Container{{Name: "app", CPUs: 4}},
	})
	fmt.Println(g.CPUs(), err)
	_, err = l.Reserve(pool.Pod{
		UID: "b", Policy: podspec.Single,
		Containers: []podspec.Container{{Name: "app", CPUs: 8}},
	})
	fmt.Println(err)
	fmt.Println("back:", l.Release("a"), "shared:", l.Shared())
	// Output:
	// 1,4,9,12 <nil>
	// container "app" asks for 8 exclusive CPUs on one NUMA node, but free are numa0 4, numa1 6 (10 in all); ask for fewer CPUs or use the policy random or wait until other pods end
	// back: 1,4,9,12 shared: 0-15
}

func ExamplePick() {
	machine := machinetest.Machine(1, 8).SMT(2).CachesPerNode(2).Build()
	cpus, err := pool.Pick(machine, pool.PickOptions{Policy: podspec.Single, CPUs: 6, Used: cpuset.Of(2, 9)})
	fmt.Println(cpus, err)
	_, err = pool.Pick(machine, pool.PickOptions{Policy: podspec.Single, CPUs: 16})
	fmt.Println(err)
	// Output:
	// 4-6,12-14 <nil>
	// the pod asks for 16 exclusive CPUs, but free are numa0 16 (16 in all) and it would leave no CPU for shared containers; at least one stays shared; ask for fewer CPUs: as it is, the pod would not fit even if it were alone on this node
}
