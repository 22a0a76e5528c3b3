package gpu_test

import (
	"fmt"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// pairs returns the GPUs of a node with two NUMA nodes. Each NUMA node has two GPUs, which an
// NVLink bridge connects.
func pairs() *gpu.Inventory {
	bridge, far := gpu.Link{NVLinks: 12, Level: gpu.Node}, gpu.Link{Level: gpu.System}
	inventory := &gpu.Inventory{Links: gpu.Links{{{}, bridge, far, far}, {bridge, {}, far, far}, {far, far, {}, bridge}, {far, far, bridge, {}}}}
	for i := range 4 {
		inventory.GPUs = append(inventory.GPUs, gpu.GPU{UUID: fmt.Sprint("GPU-", i), Index: i, NUMA: topology.NodeID(i / 2)})
	}
	return inventory
}

func ExampleInventory_Choose() {
	fmt.Println(pairs().Choose([]int{0, 1, 2, 3}, gpu.Wish{Count: 2}))
	fmt.Println(pairs().Choose([]int{0, 1, 3}, gpu.Wish{Count: 1})) // GPU 3 is chosen, so that the pair 0 and 1 stays free
	// Output:
	// [0 1] true
	// [3] true
}

func ExampleInventory_ChooseAligned() {
	_, _, err := pairs().ChooseAligned([]int{1, 2}, 2, nil)
	fmt.Println(err)
	// Output:
	// 2 GPUs on one NUMA node were requested, but only these are free: numa0 1, numa1 1; request fewer, use a CPU policy other than single, or wait
}
