package cdi

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	cncf "tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/numalet/numalet/pkg/gpu"
)

const kind = "numalet.dev/gpu"

// driver is a fake driver that describes its GPUs. Their files are under /host.
type driver struct {
	nodes map[string]int // number of device files by UUID
	files error          // why the driver's files are not found
	lacks string         // the device file of the driver that is not found
	asked int
}

func (d *driver) Describer(Paths) (Describer, error) {
	d.asked++
	return d, nil
}

func (d *driver) GetCommonEdits() (*cncf.ContainerEdits, error) {
	var nodes []*specs.DeviceNode
	for _, path := range []string{"/dev/nvidia-uvm", "/dev/nvidiactl"} {
		if path != d.lacks {
			nodes = append(nodes, &specs.DeviceNode{HostPath: "/host" + path, Path: path})
		}
	}
	return &cncf.ContainerEdits{ContainerEdits: &specs.ContainerEdits{
		Env: []string{"A=1"}, DeviceNodes: nodes, Mounts: []*specs.Mount{{HostPath: "/host/usr/lib/libcuda.so.1", ContainerPath: "/usr/lib/libcuda.so.1"}},
	}}, d.files
}

func (d *driver) GetDeviceSpecsByID(ids ...string) ([]specs.Device, error) {
	count, found := d.nodes[ids[0]]
	if !found {
		return nil, errors.New("no such GPU")
	}
	var nodes []*specs.DeviceNode
	for i := range count {
		path := "/dev/" + ids[0] + strings.Repeat("x", i)
		nodes = append(nodes, &specs.DeviceNode{HostPath: "/host" + path, Path: path})
	}
	return []specs.Device{{Name: ids[0], ContainerEdits: specs.ContainerEdits{DeviceNodes: nodes}}}, nil
}

// two returns the inventory of a node with two GPUs. One of them is in MIG mode and has a
// slice.
func two(state gpu.State) *gpu.Inventory {
	well := gpu.Health{State: gpu.Healthy}
	return &gpu.Inventory{GPUs: []gpu.GPU{
		{UUID: "GPU-a", Health: gpu.Health{State: state}},
		{UUID: "GPU-b", Health: well, MIG: true, Slices: []gpu.Slice{{UUID: "MIG-1", Health: well}}},
	}}
}

func newSpecWriter(dir string) *SpecWriter {
	return NewSpecWriter(Options{Paths: Paths{Root: "/host", HostRoot: "/"}, Kind: kind, Dir: dir})
}

// devices returns the CDI devices that a container runtime finds in a directory.
func devices(t *testing.T, dir string) []string {
	t.Helper()
	cache, err := cncf.NewCache(cncf.WithSpecDirs(dir), cncf.WithAutoRefresh(false))
	if err != nil || len(cache.GetErrors()) > 0 {
		t.Fatalf("read specifications: %v, %v", err, cache.GetErrors())
	}
	return cache.ListDevices()
}

func TestPrepare(t *testing.T) {
	none := "the CDI specification does not have this GPU: "
	for name, tc := range map[string]struct {
		driver  driver
		want    []string
		reasons map[string]string
	}{
		"all": {driver{nodes: map[string]int{"GPU-a": 1, "MIG-1": 3}}, []string{kind + "=GPU-a", kind + "=MIG-1"}, nil},
		"a GPU that is lost": {driver{nodes: map[string]int{"MIG-1": 3}}, []string{kind + "=MIG-1"}, map[string]string{
			"GPU-a": none + "no such GPU",
		}},
		"a slice without a capability": {driver{nodes: map[string]int{"GPU-a": 1, "MIG-1": 2}}, []string{kind + "=GPU-a"}, map[string]string{
			"MIG-1": none + "2 of its 3 device nodes are under /host/dev; start nvidia-persistenced or run nvidia-smi on the host, which creates them",
		}},
		"no files": {driver{nodes: map[string]int{"GPU-a": 1, "MIG-1": 3}, files: errors.New("no libcuda.so")}, nil, map[string]string{
			"GPU-a": none + "find the driver's files under /host: no libcuda.so; --driver-root must have the whole driver, not only its libraries",
			"MIG-1": none + "find the driver's files under /host: no libcuda.so; --driver-root must have the whole driver, not only its libraries",
		}},
		"no device file for memory": {driver{nodes: map[string]int{"GPU-a": 1, "MIG-1": 3}, lacks: "/dev/nvidia-uvm"}, nil, map[string]string{
			"GPU-a": none + "there is no device file /host/dev/nvidia-uvm; run nvidia-smi and nvidia-modprobe -c 0 -u on the host, which create it",
			"MIG-1": none + "there is no device file /host/dev/nvidia-uvm; run nvidia-smi and nvidia-modprobe -c 0 -u on the host, which create it",
		}},
		"no devices": {driver{}, nil, map[string]string{"GPU-a": none + "no such GPU", "MIG-1": none + "no such GPU"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cdi")
			v := newSpecWriter(dir).Prepare(two(gpu.Healthy), &tc.driver)
			var reasons map[string]string
			for _, unit := range v.Units() {
				if unit.Health.State != gpu.Healthy {
					reasons = mapWith(reasons, unit.ID, unit.Health.Reason)
				}
			}
			if diff := cmp.Diff(tc.reasons, reasons); diff != "" {
				t.Errorf("not to be given away (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, devices(t, dir)); diff != "" {
				t.Errorf("devices (-want +got):\n%s", diff)
			}
			text, _ := os.ReadFile(Path(dir, kind))
			if strings.Contains(string(text), `"/host`) {
				t.Errorf("paths of this process: %s", text)
			}
		})
	}
}

func mapWith(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// TestHookIsMissing checks that Prepare notices that the program of the hooks is missing, and
// says what to install. A container with a hook whose program is missing cannot start.
func TestHookIsMissing(t *testing.T) {
	host, dir := t.TempDir(), t.TempDir()
	k := NewSpecWriter(Options{Paths: Paths{Root: host, HostRoot: "/", Hook: "/usr/bin/nvidia-cdi-hook"}, Kind: kind, Dir: dir})
	d := &driver{nodes: map[string]int{"GPU-a": 1, "MIG-1": 3}}
	why := k.Prepare(two(gpu.Healthy), d).Units()[0].Health.Reason
	if !strings.Contains(why, host+"/usr/bin/nvidia-cdi-hook: no such file or directory; install NVIDIA's container toolkit") || len(devices(t, dir)) > 0 {
		t.Errorf("devices %v, reason %q", devices(t, dir), why)
	}
	if err := os.MkdirAll(filepath.Join(host, "usr/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/opt/hook", filepath.Join(host, "usr/bin/nvidia-cdi-hook")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(host, "opt/hook"), 0o755); err != nil {
		t.Fatal(err)
	}
	if k.Prepare(two(gpu.Healthy), d); len(devices(t, dir)) != 2 {
		t.Errorf("devices %v once the hook is there", devices(t, dir))
	}
}

// TestSpecificationFollows changes a node's GPUs step by step, and checks the CDI specification
// after each step.
func TestSpecificationFollows(t *testing.T) {
	dir := t.TempDir()
	k, d := newSpecWriter(dir), &driver{nodes: map[string]int{"GPU-a": 1, "MIG-1": 3}}
	reconfigured := two(gpu.Healthy)
	reconfigured.GPUs[1].Slices = []gpu.Slice{{UUID: "MIG-2"}, {UUID: "MIG-3"}}
	for _, step := range []struct {
		name      string
		inventory *gpu.Inventory
		change    func()
		asked     int
		want      []string
	}{
		{"at first", two(gpu.Healthy), func() {}, 1, []string{"GPU-a", "MIG-1"}},
		{"nothing new", two(gpu.Healthy), func() {}, 1, []string{"GPU-a", "MIG-1"}},
		{"the file is gone", two(gpu.Healthy), func() { os.Remove(Path(dir, kind)) }, 2, []string{"GPU-a", "MIG-1"}},
		{"other slices", reconfigured, func() { d.nodes = map[string]int{"GPU-a": 1, "MIG-2": 3} }, 3, []string{"GPU-a", "MIG-2"}},
		{"the last node is there", reconfigured, func() { d.nodes["MIG-3"] = 3 }, 4, []string{"GPU-a", "MIG-2", "MIG-3"}},
		{"a GPU is lost", two(gpu.Unhealthy), func() { d.nodes = map[string]int{"MIG-1": 3} }, 5, []string{"MIG-1"}},
		{"it stays lost", two(gpu.Unhealthy), func() {}, 5, []string{"MIG-1"}},
		{"it is back", two(gpu.Healthy), func() { d.nodes["GPU-a"] = 1 }, 6, []string{"GPU-a", "MIG-1"}},
		{"no GPUs", &gpu.Inventory{}, func() {}, 6, nil},
		{"the driver lacks a file", two(gpu.Healthy), func() { d.lacks = "/dev/nvidiactl" }, 7, nil},
		{"the driver has the file", two(gpu.Healthy), func() { d.lacks = "" }, 8, []string{"GPU-a", "MIG-1"}},
		{"no GPUs again", &gpu.Inventory{}, func() {}, 8, nil},
	} {
		step.change()
		k.Prepare(step.inventory, d)
		var want []string
		for _, id := range step.want {
			want = append(want, kind+"="+id)
		}
		if diff := cmp.Diff(want, devices(t, dir)); diff != "" || d.asked != step.asked {
			t.Errorf("%s: the driver was asked %d times, want %d; devices (-want +got):\n%s", step.name, d.asked, step.asked, diff)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestDriverAway checks that the CDI specification stays while the driver is not loaded.
// When the kubelet restarts a container with GPUs, the container runtime needs the specification.
func TestDriverAway(t *testing.T) {
	dir := t.TempDir()
	k := newSpecWriter(dir)
	k.Prepare(two(gpu.Healthy), &driver{nodes: map[string]int{"GPU-a": 1, "MIG-1": 3}})
	k.Prepare(two(gpu.Unhealthy), nil)
	if got := devices(t, dir); len(got) != 2 {
		t.Errorf("devices %v, want both", got)
	}
}

func TestClean(t *testing.T) {
	for name, tc := range map[string]struct {
		but  string
		want []string
	}{
		"switched off": {"", []string{"nvidia.yaml"}},
		"another kind": {"example.com/gpu", []string{"nvidia.yaml"}},
		"as before":    {kind, []string{"numalet.dev-gpu_numalet-nvml.json", "nvidia.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, path := range []string{Path(dir, kind), filepath.Join(dir, "nvidia.yaml")} {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := Clean(dir, tc.but); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, e := range entries {
				got = append(got, e.Name())
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
	if err := Clean(filepath.Join(t.TempDir(), "none"), ""); err != nil {
		t.Errorf("no directory: %v", err)
	}
}
