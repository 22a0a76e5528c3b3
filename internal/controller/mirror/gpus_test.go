package mirror

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// TestLinks checks that the record of a node has the links between the node's whole GPUs, and
// leaves out links to GPUs in MIG mode.
func TestLinks(t *testing.T) {
	device := func(id string, links ...string) v1alpha1.GPU {
		return v1alpha1.GPU{ID: id, Form: "physical", Health: "Healthy", Links: links}
	}
	part := v1alpha1.GPU{ID: "MIG-b", Form: "virtual", Parent: "GPU-b", Index: 1}
	for name, tc := range map[string]struct {
		gpus []v1alpha1.GPU
		want gpu.Links
	}{
		"none":        {nil, nil},
		"not told":    {[]v1alpha1.GPU{device("GPU-a"), device("GPU-b")}, nil},
		"two":         {[]v1alpha1.GPU{device("GPU-a", "-", "NV12"), device("GPU-b", "NV12", "-")}, gpu.Links{{{}, {NVLinks: 12}}, {{NVLinks: 12}, {}}}},
		"parts":       {[]v1alpha1.GPU{device("GPU-a", "-", "NV12", "PIX"), part, device("GPU-c", "PIX", "SYS", "-")}, gpu.Links{{{}, {Level: gpu.Single}}, {{Level: gpu.Single}, {}}}},
		"not of each": {[]v1alpha1.GPU{device("GPU-a", "-", "?"), device("GPU-b")}, gpu.Links{{{}, {}}, {{}, {}}}},
		"nonsense":    {[]v1alpha1.GPU{device("GPU-a", "-", "NV12"), device("GPU-b", "PIX", "-")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			topology := &v1alpha1.NodeTopology{Status: v1alpha1.NodeTopologyStatus{GPUs: tc.gpus}}
			got := record(&node{object: nodeOf("n", nil), topology: topology}, "nvidia.com/gpu")
			if diff := cmp.Diff(tc.want, got.Links); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHealth checks that only healthy GPUs are free in the record of a node.
func TestHealth(t *testing.T) {
	for health, want := range map[string]sched.MilliGPU{"Healthy": sched.WholeGPU, "Unhealthy": 0, "Unknown": 0} {
		t.Run(health, func(t *testing.T) {
			topology := &v1alpha1.NodeTopology{Status: v1alpha1.NodeTopologyStatus{GPUs: []v1alpha1.GPU{{ID: "GPU-a", Form: "physical", Health: health}}}}
			var free []sched.MilliGPU
			for _, g := range record(&node{object: nodeOf("n", nil), topology: topology}, "nvidia.com/gpu").GPUs {
				free = append(free, g.Free)
			}
			if diff := cmp.Diff([]sched.MilliGPU{want}, free); diff != "" {
				t.Errorf("free capacity of each GPU (-want +got):\n%s", diff)
			}
		})
	}
}
