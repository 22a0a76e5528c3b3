package groups

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
)

// TestInventory checks that Inventory reads the links between whole GPUs, gives a GPU in MIG
// mode its slices, and leaves out links that contradict each other.
func TestInventory(t *testing.T) {
	reported := &v1alpha1.NodeTopology{Status: v1alpha1.NodeTopologyStatus{GPUs: []v1alpha1.GPU{
		{ID: "GPU-a", Model: "A30", Form: "physical", Links: []string{"-", "SYS", "NV4"}},
		{ID: "MIG-b", Index: 1, Model: "A30", Type: gpu.SliceTypeName("A30", "1g.6gb+me"), Parent: "GPU-b", Form: "virtual"},
		{ID: "GPU-c", Index: 2, Model: "A30", Form: "physical", Links: []string{"NV4", "SYS", "-"}},
	}}}
	want := &gpu.Inventory{
		GPUs: []gpu.GPU{
			{UUID: "GPU-a", Model: "A30", NUMA: -1},
			{UUID: "GPU-b", Index: 1, Model: "A30", NUMA: -1, MIG: true, Slices: []gpu.Slice{{UUID: "MIG-b", Profile: "1g.6gb.me"}}},
			{UUID: "GPU-c", Index: 2, Model: "A30", NUMA: -1},
		},
		Links: gpu.Links{{{}, {}, {NVLinks: 4}}, {{}, {}, {}}, {{NVLinks: 4}, {}, {}}},
	}
	got := Inventory(reported)
	if diff := cmp.Diff(want, got); diff != "" || got.Check() != nil {
		t.Errorf("inventory: %v (-want +got):\n%s", got.Check(), diff)
	}
	reported.Status.GPUs[0].Links[2] = "PIX"
	if got := Inventory(reported).Links; got != nil {
		t.Errorf("links %v of rows that contradict each other, want none", got)
	}
}
