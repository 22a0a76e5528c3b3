//go:build cgo

package kubelet

import (
	"flag"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/numalet/numalet/internal/gpu/nvml"
	"github.com/numalet/numalet/internal/platform/ghwcheck"
	"github.com/numalet/numalet/internal/testutil/runtest"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/test/fakenvml"
)

var library = flag.String("nvml", "", "libnvidia-ml.so.1 of a real driver for TestGPUCheck, which else takes a fake")

// TestGPUCheck tests all steps between a driver and a kubelet: it reads the inventory, registers
// for events, lists the resources, and allocates one device of each resource. With the fake driver
// it also injects a fault of one MIG slice. It logs its results, which `make gpu-check` prints.
func TestGPUCheck(t *testing.T) {
	path, fake := *library, (*fakenvml.Fake)(nil)
	if path == "" {
		fake = fakenvml.New(t, fakenvml.Eight)
		path = fake.Library
		t.Log("these GPUs are FAKE, of test/fakenvml: no GPU is behind them")
	}
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	var latest atomic.Pointer[gpu.Inventory]
	latest.Store(&gpu.Inventory{})
	p := startGPUs(t, root, latest.Load)
	monitor(t, path, func(inventory *gpu.Inventory) { latest.Store(inventory); p.Notify() })
	eventually(t, "GPUs of "+path, true, func() bool { return len(latest.Load().Units()) > 0 })

	logInventory(t, latest.Load())
	eventually(t, "all resources", true, func() bool {
		published := len(kubelet.status())
		return published > 0 && published == len(kubelet.registrations()) && p.Ready() == nil
	})
	t.Logf("the kubelet counts, allocatable/capacity: %v", kubelet.status())
	for _, resource := range slices.Sorted(maps.Keys(kubelet.status())) {
		ids := kubelet.prefer(t, resource, 1, kubelet.listed(resource)...)
		annotations, err := kubelet.allocate(t, resource, ids...)
		t.Logf("one of %s: %s, %v, %v", resource, ids, annotations, err)
	}
	if fake == nil {
		return
	}
	fake.Inject("xid GPU-fa4e0007-0000-0000-0000-000000000000 94 3 0")
	eventually(t, "a slice with a fault", "Unhealthy", func() string {
		return kubelet.health("nvidia.com/mig-2g.20gb", "MIG-fa4e0703-0000-0000-0000-000000000000")
	})
	if got := kubelet.status()["nvidia.com/mig-1g.10gb"]; got != "2/2" {
		t.Errorf("other slices of the GPU: %s healthy, want 2/2", got)
	}
}

// monitor watches the GPUs of the driver until the test ends, and passes each new inventory to the
// function `publish` (a parameter).
func monitor(t *testing.T, library string, publish func(*gpu.Inventory)) {
	t.Helper()
	m := nvml.NewMonitor(nvml.MonitorOptions{
		Open:    func() (nvml.Driver, error) { return nvml.Open(nvml.Options{Library: library, Machine: os.DirFS("/")}) },
		Publish: publish, Tick: time.Tick(time.Second), Now: time.Now, MinFault: time.Minute, Log: testr.New(t),
	})
	runtest.Run(t, m)
}

func logInventory(t *testing.T, inventory *gpu.Inventory) {
	t.Helper()
	t.Logf("driver %s, CUDA %s", inventory.Driver, inventory.CUDA)
	for i, c := range inventory.GPUs {
		t.Logf("%d %s %s, %d MiB, %s, NUMA node %d, links %v", c.Index, c.UUID, c.Model, c.MemoryBytes>>20, c.PCI, c.NUMA, inventory.Links[i])
		for _, slice := range c.Slices {
			t.Logf("  %s %s, %d MiB, instances %d/%d", slice.UUID, slice.Profile, slice.MemoryBytes>>20, slice.GPUInstance, slice.ComputeInstance)
		}
	}
	for _, difference := range ghwcheck.GPUDifferences(inventory, "/") {
		t.Log(difference)
	}
}
