//go:build cgo

package kubelet

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	cncf "tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/numalet/numalet/internal/gpu/nvml"
	"github.com/numalet/numalet/internal/gpu/nvml/cdi"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/test/fakenvml"
)

const kind = "numalet.dev/gpu"

// TestGPUCheckSpecification needs a machine with NVIDIA GPUs and their driver. `make gpu-check`
// runs it there. It writes the CDI specification of these GPUs, and logs what a container would get
// with each GPU.
func TestGPUCheckSpecification(t *testing.T) {
	if *library == "" {
		t.Skip("no real driver; TestCDIDevicesResolve takes a fake")
	}
	dir := t.TempDir()
	v := specify(t, *library, cdi.Options{Paths: cdi.Paths{Root: "/", HostRoot: "/"}, Kind: kind, Dir: dir})
	cache := read(t, dir)
	for _, unit := range v.Units() {
		if unit.Health.State != gpu.Healthy {
			t.Errorf("%s: %s", unit.ID, unit.Health.Reason)
			continue
		}
		container := inject(t, cache, kind+"="+unit.ID)
		t.Logf("%s: device nodes %v, %d mounts", unit.ID, nodes(container), len(container.Mounts))
	}
}

// TestCDIDevicesResolve allocates every device that the plugin offers, on a machine with a
// fake driver. It checks that the CDI library, which containerd uses, finds each allocated
// device in the CDI specification that numalet-nvml writes.
func TestCDIDevicesResolve(t *testing.T) {
	if !fakenvml.Isolated(t) {
		return
	}
	fake := fakenvml.New(t, fakenvml.Eight)
	root, dir := fake.Root(), t.TempDir()
	v := specify(t, fake.Library, cdi.Options{
		Paths: cdi.Paths{Root: root, HostRoot: root, Hook: "/usr/bin/nvidia-cdi-hook"}, Kind: kind, Dir: dir,
	})
	cache := read(t, dir)
	given := map[string][]string{}
	for resource, ids := range offered(t, v) {
		for _, id := range ids {
			g := byCDI(v)
			if _, err := g.list(nothingHeld()); err != nil {
				t.Fatal(err)
			}
			response, err := g.allocate(resource, []string{id})
			if err != nil {
				t.Fatal(err)
			}
			container := inject(t, cache, response.CdiDevices[0].Name)
			given[id] = nodes(container)
			checkDriver(t, container, root)
		}
	}
	want := map[string][]string{}
	for i, unit := range v.Units() {
		want[unit.ID] = []string{"nvidia" + string(rune('0'+unit.GPU))}
		if unit.Form == gpu.Physical {
			want[unit.ID+"::0"] = want[unit.ID]
			continue
		}
		want[unit.ID] = append(want[unit.ID], [][]string{
			{"nvidia-caps/nvidia-cap2", "nvidia-caps/nvidia-cap3"}, {"nvidia-caps/nvidia-cap4", "nvidia-caps/nvidia-cap5"},
			{"nvidia-caps/nvidia-cap6", "nvidia-caps/nvidia-cap7"}, {"nvidia-caps/nvidia-cap18", "nvidia-caps/nvidia-cap19"},
			{"nvidia-caps/nvidia-cap20", "nvidia-caps/nvidia-cap21"},
		}[i-6]...)
	}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Errorf("device nodes by what was allocated (-want +got):\n%s", diff)
	}
}

// specify writes the CDI specification of a driver's GPUs, as if all GPUs were healthy.
func specify(t *testing.T, library string, o cdi.Options) *gpu.Inventory {
	t.Helper()
	driver, err := nvml.Open(nvml.Options{Library: library, Machine: os.DirFS("/"), Log: testr.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer driver.Close()
	v, err := driver.Inventory()
	if err != nil {
		t.Fatal(err)
	}
	healthy := v.WithHealth(func(string, gpu.Health) gpu.Health { return gpu.Health{State: gpu.Healthy} })
	return cdi.NewSpecWriter(o).Prepare(healthy, driver)
}

func byCDI(inventory *gpu.Inventory) *GPUs {
	return NewGPUs(GPUOptions{
		Latest: func() *gpu.Inventory { return inventory }, Resource: whole, Shares: 1, HandOver: HandOver{CDIKind: kind},
		Changed: func() {}, Now: time.Now,
	})
}

// nothingHeld returns the state of a kubelet whose containers have no devices.
func nothingHeld() previous { return previous{held: func(string) map[string]bool { return nil }} }

// offered returns the IDs of all healthy devices that the plugin lists, by resource.
func offered(t *testing.T, inventory *gpu.Inventory) map[string][]string {
	t.Helper()
	listed, err := byCDI(inventory).list(nothingHeld())
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string][]string{}
	for resource, devices := range listed {
		for _, device := range devices {
			if device.Health == "Healthy" {
				ids[resource] = append(ids[resource], device.ID)
			}
		}
	}
	return ids
}

// read reads a directory of CDI specifications as a container runtime does.
func read(t *testing.T, dir string) *cncf.Cache {
	t.Helper()
	cache, err := cncf.NewCache(cncf.WithSpecDirs(dir), cncf.WithAutoRefresh(false))
	if err != nil || len(cache.GetErrors()) > 0 {
		t.Fatalf("read the specification: %v, %v", err, cache.GetErrors())
	}
	return cache
}

// inject returns the OCI specification of a container that gets a CDI device.
func inject(t *testing.T, cache *cncf.Cache, name string) *oci.Spec {
	t.Helper()
	container := &oci.Spec{Process: &oci.Process{}, Hooks: &oci.Hooks{}}
	if unresolved, err := cache.InjectDevices(container, name); err != nil {
		t.Fatalf("inject %s: %v, unresolved %v", name, err, unresolved)
	}
	return container
}

// nodes returns the device files of GPUs that a container has in /dev.
func nodes(container *oci.Spec) []string {
	var names []string
	for _, device := range container.Linux.Devices {
		if name := strings.TrimPrefix(device.Path, "/dev/"); name != "nvidiactl" && !strings.HasPrefix(name, "nvidia-uvm") {
			names = append(names, name)
		}
	}
	return names
}

// checkDriver checks that a container with a GPU gets the files of the driver.
func checkDriver(t *testing.T, container *oci.Spec, root string) {
	t.Helper()
	if !slices.Contains(container.Process.Env, "NVIDIA_VISIBLE_DEVICES=void") {
		t.Errorf("environment %v would let NVIDIA's container runtime add GPUs", container.Process.Env)
	}
	if !slices.ContainsFunc(container.Mounts, func(m oci.Mount) bool {
		return m.Source == root+m.Destination && strings.Contains(m.Destination, "libcuda.so.")
	}) {
		t.Errorf("no libcuda.so in %v", container.Mounts)
	}
	if len(container.Hooks.CreateContainer) == 0 {
		t.Error("no hooks")
	}
}
