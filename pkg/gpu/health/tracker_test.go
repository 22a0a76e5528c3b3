package health

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/gpu"
)

// TestFollow checks what happens when the slices of a GPU change: the GPU keeps its fault,
// a new slice has unknown health, and a removed slice is forgotten.
func TestFollow(t *testing.T) {
	start := time.Unix(0, 0)
	w := New(machine(), time.Minute)
	w.ObserveProbe("m", Probe{Answers: true}, start)
	w.ObserveEvent(Event{GPU: "m", Kind: DoubleBit}, start)
	v := machine()
	v.GPUs[1].Slices = []gpu.Slice{v.GPUs[1].Slices[0], {UUID: "m3", GPUInstance: 3}}
	w.SetInventory(v)
	got := map[string]gpu.State{}
	for _, id := range []string{"m", "m1", "m2a", "m3"} {
		got[id] = w.Health(id).State
	}
	want := map[string]gpu.State{"m": gpu.Unhealthy, "m1": gpu.Healthy, "m2a": gpu.UnknownState, "m3": gpu.UnknownState}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// TestApplyKeepsInventory checks that Apply does not change the inventory that it is
// given.
func TestApplyKeepsInventory(t *testing.T) {
	v := machine()
	w := New(v, time.Minute)
	w.ObserveEvent(Event{GPU: "m", Kind: DoubleBit}, time.Unix(0, 0))
	w.Apply(v)
	if diff := cmp.Diff(machine(), v); diff != "" {
		t.Errorf("inventory (-before +after):\n%s", diff)
	}
}
