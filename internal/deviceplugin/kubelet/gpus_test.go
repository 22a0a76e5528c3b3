package kubelet

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/testing/protocmp"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/numalet/numalet/internal/testutil/runtest"
	"github.com/numalet/numalet/pkg/gpu"
)

const (
	whole  = "nvidia.com/gpu"
	shares = "nvidia.com/gpu.shared"
	mig    = "nvidia.com/mig-1g.10gb.me"
)

// gpus returns an inventory of five GPUs. An NVLink bridge connects `a` and `b`, which are on NUMA
// node 0. `c` is on NUMA node 1. The NUMA node of `d` is unknown. `m` is on NUMA node 1, and is in
// MIG mode.
func gpus() *gpu.Inventory {
	well := gpu.Health{State: gpu.Healthy}
	inventory := &gpu.Inventory{GPUs: []gpu.GPU{
		{UUID: "a", Health: well, MemoryBytes: 80 << 30}, {UUID: "b", Index: 1, Health: well, MemoryBytes: 80 << 30},
		{UUID: "c", Index: 2, NUMA: 1, Health: well}, {UUID: "d", Index: 3, NUMA: -1, Health: well},
		{UUID: "m", Index: 4, NUMA: 1, Health: well, MIG: true, Slices: []gpu.Slice{
			{UUID: "m1", Profile: "1g.10gb+me", Health: well}, {UUID: "m2", Profile: "1g.10gb+me", Health: well},
		}},
	}}
	inventory.Links = make(gpu.Links, len(inventory.GPUs))
	for i := range inventory.Links {
		inventory.Links[i] = make([]gpu.Link, len(inventory.GPUs))
	}
	inventory.Links[0][1], inventory.Links[1][0] = gpu.Link{NVLinks: 12}, gpu.Link{NVLinks: 12}
	return inventory
}

func newGPUs(h HandOver) *GPUs {
	return NewGPUs(GPUOptions{
		Latest: gpus, Resource: whole, Shares: 2, HandOver: h, Changed: func() {}, Now: func() time.Time { return time.Time{} },
	})
}

// asShown writes the devices of each resource as a list of IDs. "-" before an ID means
// Unhealthy, and "@1" after it means NUMA node 1.
func asShown(devices map[string][]*pluginapi.Device) map[string]string {
	shown := map[string]string{}
	for resource, list := range devices {
		var words []string
		for _, d := range list {
			word := d.ID
			if d.Health == pluginapi.Unhealthy {
				word = "-" + word
			}
			if d.Topology != nil && d.Topology.Nodes[0].ID == 1 {
				word += "@1"
			}
			words = append(words, word)
		}
		shown[resource] = strings.Join(words, " ")
	}
	return shown
}

// TestGPUsAreGivenOneWay checks that a GPU is allocated either as a whole or in shares. After one
// GPU is allocated as a whole, its shares are unhealthy. After a share of another GPU is allocated,
// the device for that whole GPU is unhealthy. It also checks that a slice with a known fault is
// unhealthy. While GPUs are not monitored, the devices of containers must stay healthy.
func TestGPUsAreGivenOneWay(t *testing.T) {
	v := gpus()
	now := time.Time{}
	g := NewGPUs(GPUOptions{
		Latest: func() *gpu.Inventory { return v }, Resource: whole, Shares: 2, Changed: func() {}, Now: func() time.Time { return now },
	})
	held := map[string]map[string]bool{}
	show := func() map[string]string {
		devices, err := g.list(previous{held: func(resource string) map[string]bool { return held[resource] }})
		if err != nil {
			t.Fatal(err)
		}
		return asShown(devices)
	}
	check := func(when string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, show()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("at first", map[string]string{
		whole: "a b c@1 d", shares: "a::0 a::1 b::0 b::1 c::0@1 c::1@1 d::0 d::1", mig: "m1@1 m2@1",
	})
	for resource, id := range map[string]string{whole: "a", shares: "b::1"} {
		if _, err := g.allocate(resource, []string{id}); err != nil {
			t.Fatal(err)
		}
	}
	v.GPUs[4].Slices[0].Health = gpu.Health{State: gpu.Unhealthy}
	given := map[string]string{
		whole: "a -b c@1 d", shares: "-a::0 -a::1 b::0 b::1 c::0@1 c::1@1 d::0 d::1", mig: "-m1@1 m2@1",
	}
	check("given", given)
	now = now.Add(allocationGrace)
	held[whole], held[shares] = map[string]bool{"a": true}, map[string]bool{"b::1": true}
	check("listed by the kubelet", given)
	held[shares] = nil
	check("the share is back", map[string]string{
		whole: "a b c@1 d", shares: "-a::0 -a::1 b::0 b::1 c::0@1 c::1@1 d::0 d::1", mig: "-m1@1 m2@1",
	})
	for i := range v.GPUs {
		v.GPUs[i].Health = gpu.Health{}
	}
	v.GPUs[4].Slices = nil
	check("nobody watches, and MIG was taken apart", map[string]string{
		whole: "a -b -c@1 -d", shares: "-a::0 -a::1 -b::0 -b::1 -c::0@1 -c::1@1 -d::0 -d::1", mig: "",
	})
}

// TestGPUsHeldAtTheStart checks that the first list after a start of the device plugin takes into
// account the devices that containers already hold.
func TestGPUsHeldAtTheStart(t *testing.T) {
	held := map[string]map[string]bool{whole: {"a": true}, shares: {"b::1": true}}
	devices, err := newGPUs(HandOver{}).list(previous{held: func(resource string) map[string]bool { return held[resource] }})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{whole: "a -b c@1 d", shares: "-a::0 -a::1 b::0 b::1 c::0@1 c::1@1 d::0 d::1", mig: "m1@1 m2@1"}
	if diff := cmp.Diff(want, asShown(devices)); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}

// TestGPUsWithFewerShares checks that a GPU is not allocated as a whole while a container has a
// share that the device plugin no longer offers, because an administrator reduced the number of
// shares.
func TestGPUsWithFewerShares(t *testing.T) {
	for name, tc := range map[string]struct {
		shares int
		want   map[string]string
	}{
		"one":  {1, map[string]string{whole: "a -b c@1 d", shares: "a::0 b::0 c::0@1 d::0", mig: "m1@1 m2@1"}},
		"none": {0, map[string]string{whole: "a -b c@1 d", mig: "m1@1 m2@1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGPUs(HandOver{})
			g.Shares = tc.shares
			held := map[string]map[string]bool{shares: {"b::1": true}}
			devices, err := g.list(previous{held: func(resource string) map[string]bool { return held[resource] }})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, asShown(devices)); diff != "" {
				t.Errorf("devices (-want +got):\n%s", diff)
			}
			if _, err := g.allocate(whole, []string{"b"}); err == nil {
				t.Error("b was allocated as a whole")
			}
		})
	}
}

// TestGroupedGPUsHaveNoShares checks that shares of a GPU in a GPU group are neither offered
// nor allocated. A share that a container already has stays healthy.
func TestGroupedGPUsHaveNoShares(t *testing.T) {
	g := newGPUs(HandOver{})
	if _, err := g.allocate(shares, []string{"b::0"}); err != nil {
		t.Fatal(err)
	}
	g.Reserved = func(device string) bool { return device == "a" || device == "b" }
	devices, err := g.list(previous{held: func(string) map[string]bool { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{whole: "a -b c@1 d", shares: "-a::0 -a::1 b::0 -b::1 c::0@1 c::1@1 d::0 d::1", mig: "m1@1 m2@1"}
	if diff := cmp.Diff(want, asShown(devices)); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	if _, err := g.allocate(shares, []string{"a::0"}); err == nil || !strings.Contains(err.Error(), "in a GPU group") {
		t.Errorf("a share of a grouped GPU: %v", err)
	}
	if _, err := g.allocate(whole, []string{"a"}); err != nil {
		t.Errorf("a grouped GPU: %v", err)
	}
}

func TestChoose(t *testing.T) {
	for name, tc := range map[string]struct {
		given           string // IDs of the devices that are already allocated
		resource        string
		available, must string
		count           int32
		want            string
	}{
		"a bridged pair":                 {"", whole, "d c b a", "", 2, "a b"},
		"one, and the pair stays":        {"", whole, "a b c", "", 1, "c"},
		"beside one that must be":        {"", whole, "b c d", "c", 2, "c b"},
		"not one that is shared since":   {"a::0", whole, "a b c", "", 2, "b c"},
		"too few: the kubelet picks":     {"a::0", whole, "a b", "b", 2, "b"},
		"shares of the GPU with fewest":  {"", shares, "a::0 a::1 b::1", "", 1, "b::1"},
		"shares of one GPU":              {"", shares, "a::0 b::0 b::1", "", 2, "b::0 b::1"},
		"shares of two GPUs":             {"", shares, "a::0 b::0 b::1", "", 3, "b::0 b::1 a::0"},
		"no share of a GPU that is gone": {"b", shares, "a::0 a::1 b::1", "", 1, "a::0"},
		"slices":                         {"", mig, "m2 m1", "", 1, "m1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGPUs(HandOver{})
			for _, id := range strings.Fields(tc.given) {
				g.mu.allocated[id] = &allocation{}
			}
			got := g.choose(t.Context(), tc.resource, &pluginapi.ContainerPreferredAllocationRequest{
				AvailableDeviceIDs: append(strings.Fields(tc.must), strings.Fields(tc.available)...), MustIncludeDeviceIDs: strings.Fields(tc.must), AllocationSize: tc.count,
			})
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("chosen (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHeldUnderAnotherName checks that a GPU or slice that a container has under another resource name
// is neither offered nor allocated, and that it is offered when the container is gone.
func TestHeldUnderAnotherName(t *testing.T) {
	held := map[string]map[string]bool{"other.dev/gpu": {"a": true}, "other.dev/gpu.shared": {"b::1": true}, whole: {"c": true, "m1": true}}
	pods := map[types.NamespacedName]PodDevices{{Name: "p"}: {Devices: []string{"a", "b::1", "c", "m1", "another-device"}}}
	g := newGPUs(HandOver{})
	for _, step := range []struct {
		before previous
		want   map[string]string
		broken []string // IDs that cannot be allocated
	}{
		{
			previous{held: func(resource string) map[string]bool { return held[resource] }, pods: pods},
			map[string]string{whole: "-a -b c@1 d", shares: "-a::0 -a::1 -b::0 -b::1 -c::0@1 -c::1@1 d::0 d::1", mig: "-m1@1 m2@1"},
			[]string{"a", "b", "b::0", "m1"},
		},
		{
			previous{held: func(string) map[string]bool { return nil }},
			map[string]string{whole: "a b c@1 d", shares: "a::0 a::1 b::0 b::1 c::0@1 c::1@1 d::0 d::1", mig: "m1@1 m2@1"},
			nil,
		},
	} {
		devices, err := g.list(step.before)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, asShown(devices)); diff != "" {
			t.Errorf("devices (-want +got):\n%s", diff)
		}
		for _, id := range step.broken {
			if _, err := g.allocate(whole, []string{id}); err == nil || !strings.Contains(err.Error(), "under another resource name") {
				t.Errorf("allocate %s: %v", id, err)
			}
		}
	}
}

// TestAllocateChanges checks that allocate asks for a new list of devices only if GPUs have shares,
// because only the other form of the GPU becomes unhealthy.
func TestAllocateChanges(t *testing.T) {
	for number, want := range map[int]int{0: 0, 2: 1} {
		g, changed := newGPUs(HandOver{}), 0
		g.Shares, g.Changed = number, func() { changed++ }
		if _, err := g.allocate(whole, []string{"a"}); err != nil || changed != want {
			t.Errorf("with %d shares: %d changes, %v; want %d", number, changed, err, want)
		}
	}
}

// TestChooseAvoids checks the order in which GPUs are chosen for a container for which the controller
// chose none: first free GPUs, then those that the controller chose for another pod, and last those
// that the kubelet lists for another container and offers nevertheless.
func TestChooseAvoids(t *testing.T) {
	g := newGPUs(HandOver{})
	list := lists("old", "new")
	list[0].Containers = []*podresources.ContainerResources{{Name: "main", Devices: []*podresources.ContainerDevices{
		{ResourceName: whole, DeviceIds: []string{"a"}}, {ResourceName: shares, DeviceIds: []string{"b::0"}},
	}}}
	api := newAPIServer(decidedPod("old2", "main 1"), decidedPod("new1", "main 1"), decidedPod("next1", "main 1 b"))
	g.Decider = newDecider(api, func() []*podresources.PodResources { return list })
	for _, tc := range []struct {
		resource, available string
		count               int32
		want                string
	}{
		{whole, "a b d", 1, "d"},
		{whole, "a b", 1, "b"},
		{whole, "a b d", 2, "b d"},
		{whole, "a b", 2, "a b"},
		{shares, "d::0 b::0 b::1", 2, "b::1 d::0"},
	} {
		got := g.choose(t.Context(), tc.resource, &pluginapi.ContainerPreferredAllocationRequest{AvailableDeviceIDs: strings.Fields(tc.available), AllocationSize: tc.count})
		if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%d of %s (-want +got):\n%s", tc.count, tc.available, diff)
		}
	}
}

func TestHandOver(t *testing.T) {
	for name, tc := range map[string]struct {
		handOver HandOver
		resource string
		ids      []string
		want     *pluginapi.ContainerAllocateResponse
	}{
		"environment, in the driver's order": {HandOver{}, whole, []string{"b", "a"}, &pluginapi.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": "a,b"}, Annotations: map[string]string{"allocated.numalet.dev/gpu": "a,b"},
		}},
		"CDI": {HandOver{CDIKind: "nvidia.com/gpu"}, mig, []string{"m1", "m2"}, &pluginapi.ContainerAllocateResponse{
			CdiDevices:  []*pluginapi.CDIDevice{{Name: "nvidia.com/gpu=m1"}, {Name: "nvidia.com/gpu=m2"}},
			Annotations: map[string]string{"allocated.numalet.dev/mig-1g.10gb.me": "m1,m2"},
		}},
		"shares that take turns": {HandOver{}, shares, []string{"a::1", "a::0"}, &pluginapi.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": "a"}, Annotations: map[string]string{"allocated.numalet.dev/gpu.shared": "a::0,a::1"},
		}},
		"shares with MPS": {HandOver{CDIKind: "nvidia.com/gpu", MPSDir: "/run/mps"}, shares, []string{"b::0", "a::1", "a::0"}, &pluginapi.ContainerAllocateResponse{
			CdiDevices: []*pluginapi.CDIDevice{{Name: "nvidia.com/gpu=a"}, {Name: "nvidia.com/gpu=b"}},
			Envs: map[string]string{
				"CUDA_MPS_PIPE_DIRECTORY": "/tmp/nvidia-mps", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=81920M,1=40960M",
			},
			Mounts:      []*pluginapi.Mount{{HostPath: "/run/mps/pipe", ContainerPath: "/tmp/nvidia-mps"}, {HostPath: "/run/mps/shm", ContainerPath: "/dev/shm"}},
			Annotations: map[string]string{"allocated.numalet.dev/gpu.shared": "a::0,a::1,b::0"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newGPUs(tc.handOver).allocate(tc.resource, tc.ids)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGPUsAtTheKubelet checks which GPUs the kubelet sees. The publisher starts without GPUs,
// as before the first message from numalet-nvml.
func TestGPUsAtTheKubelet(t *testing.T) {
	root := kubeletRoot(t)
	kubelet := startKubelet(t, root)
	var latest atomic.Pointer[gpu.Inventory]
	latest.Store(&gpu.Inventory{})
	p := startGPUs(t, root, latest.Load)
	eventually(t, "readiness", nil, p.Ready)
	latest.Store(gpus())
	p.Notify()
	eventually(t, "status", map[string]string{whole: "4/4", shares: "8/8", mig: "2/2"}, kubelet.status)
	eventually(t, "readiness", nil, p.Ready)

	if _, err := kubelet.allocate(t, whole, kubelet.prefer(t, whole, 2, "a", "b", "c", "d")...); err != nil {
		t.Fatal(err)
	}
	eventually(t, "status with two GPUs given", map[string]string{whole: "4/4", shares: "4/8", mig: "2/2"}, kubelet.status)
	_, err := kubelet.allocate(t, shares, "a::0")
	if err == nil || !strings.Contains(err.Error(), "allocate a::0 of nvidia.com/gpu.shared: the GPU is allocated to another container as nvidia.com/gpu") {
		t.Errorf("share of a GPU that is given: %v", err)
	}
}

// startGPUs runs a publisher of GPUs until the test ends.
func startGPUs(t *testing.T, root string, latest func() *gpu.Inventory) *Publisher {
	t.Helper()
	var p *Publisher
	g := NewGPUs(GPUOptions{Latest: latest, Resource: whole, Shares: 2, Changed: func() { p.Notify() }, Now: time.Now})
	p = NewPublisher(Options{
		Root: root, Sources: []Source{g}, Tick: make(chan time.Time),
		After: func(time.Duration) <-chan time.Time { return time.After(time.Millisecond) },
		Log:   testr.New(t), Metrics: prometheus.NewRegistry(),
	})
	runtest.Run(t, p)
	return p
}
