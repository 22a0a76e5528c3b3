package ghwcheck

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/gpu"
)

func TestCompareGPUs(t *testing.T) {
	inventory := &gpu.Inventory{GPUs: []gpu.GPU{{PCI: "0000:1a:00.0", NUMA: 1}, {PCI: "0000:1b:00.0", NUMA: -1}}}
	got := compareGPUs(inventory, []graphics{
		{"0000:1a:00.0", nvidia, 1}, {"0000:1b:00.0", nvidia, 0}, {"0000:1c:00.0", nvidia, -1}, {"0000:02:00.0", "1a03", 0}, {"card0", nvidia, 0},
	})
	want := []string{
		"ghw sees the GPU at 0000:1b:00.0 on NUMA node 0, sysfs or the driver on -1",
		"ghw sees an NVIDIA GPU at 0000:1c:00.0, of which the driver does not tell",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}
