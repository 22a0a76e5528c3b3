package pool

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/machinetest"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// TestAvailableMemory checks that a pod reduces the available memory by the largest amount that its
// containers bind at one time. When the pod is released, this memory must be available again.
func TestAvailableMemory(t *testing.T) {
	l := mustNew(t, machinetest.Machine(2, 4).Memory(100).Build(), Options{})
	pod := func(uid string, wants ...podspec.Container) Pod {
		return Pod{UID: uid, Policy: podspec.Single, Containers: wants}
	}
	on := func(id topology.NodeID, name string, kind podspec.Kind, bytes uint64) podspec.Container {
		return podspec.Container{Name: name, Kind: kind, CPUs: 1, PerNode: map[topology.NodeID]int{id: 1}, MemoryBytes: bytes}
	}
	expect := func(want map[topology.NodeID]uint64) {
		t.Helper()
		if diff := cmp.Diff(want, l.AvailableMemory()); diff != "" {
			t.Errorf("available memory (-want +got):\n%s", diff)
		}
	}
	expect(map[topology.NodeID]uint64{0: 100, 1: 100})
	for _, p := range []Pod{
		pod("a", on(0, "first", podspec.Init, 60), on(0, "main", podspec.App, 40)),
		pod("b", on(0, "main", podspec.App, 10), on(1, "side", podspec.App, 30)),
	} {
		if _, err := l.Reserve(p); err != nil {
			t.Fatal(err)
		}
	}
	expect(map[topology.NodeID]uint64{0: 30, 1: 70})
	l.Release("a")
	l.Release("b")
	expect(map[topology.NodeID]uint64{0: 100, 1: 100})
}

// TestReservedMemoryIsNotGranted checks that containers cannot bind memory that is reserved for the
// kernel or the system. The OOM killer would kill a container that binds all memory of a NUMA node,
// because the kernel and daemons use some of it.
func TestReservedMemoryIsNotGranted(t *testing.T) {
	m := machinetest.Machine(2, 4).Memory(64).Build()
	m.Nodes[0].KernelReserved = 4
	for name, tc := range map[string]struct {
		reserved map[topology.NodeID]uint64
		want     map[topology.NodeID]uint64
	}{
		"kernel only":        {nil, map[topology.NodeID]uint64{0: 60, 1: 64}},
		"kernel and system":  {map[topology.NodeID]uint64{0: 10, 1: 20}, map[topology.NodeID]uint64{0: 50, 1: 44}},
		"more than there is": {map[topology.NodeID]uint64{0: 100}, map[topology.NodeID]uint64{0: 0, 1: 64}},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustNew(t, m, Options{ReservedMemory: tc.reserved})
			if diff := cmp.Diff(tc.want, l.AvailableMemory()); diff != "" {
				t.Errorf("available memory (-want +got):\n%s", diff)
			}
			for id, bytes := range tc.want {
				for _, more := range []uint64{1, 0} {
					want := podspec.Container{Name: "c", CPUs: 1, PerNode: map[topology.NodeID]int{id: 1}, MemoryBytes: bytes + more}
					_, err := l.Reserve(Pod{UID: "a", Policy: podspec.Single, Containers: []podspec.Container{want}})
					if (err != nil) != (more > 0) {
						t.Errorf("bind %d bytes of %d on node %d = %v", bytes+more, bytes, id, err)
					}
				}
				l.Release("a")
			}
		})
	}
}
