package mirror

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// TestMemoryOfANUMANode checks how much memory of a NUMA node counts as free: only the memory
// that the node's agent reports as allocatable for pods. If an agent of an older release does not
// report it, all memory must count.
func TestMemoryOfANUMANode(t *testing.T) {
	gib := func(n int64) *resource.Quantity { return resource.NewQuantity(n<<30, resource.BinarySI) }
	for name, tc := range map[string]struct {
		node v1alpha1.NUMANode
		want sched.Bytes
	}{
		"allocatable":      {v1alpha1.NUMANode{Memory: gib(64), AllocatableMemory: gib(60), AvailableMemory: gib(10)}, 60 << 30},
		"none allocatable": {v1alpha1.NUMANode{Memory: gib(64), AllocatableMemory: gib(0), AvailableMemory: gib(0)}, 0},
		"older agent":      {v1alpha1.NUMANode{Memory: gib(64), AvailableMemory: gib(10)}, 64 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			if got := numaNode(tc.node, 1); got.Memory != tc.want || got.FreeMemory != tc.want {
				t.Errorf("memory %d, free %d; want %d", got.Memory, got.FreeMemory, tc.want)
			}
		})
	}
}
