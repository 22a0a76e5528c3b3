package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
)

func TestReportGPUs(t *testing.T) {
	node, memory, part := int32(2), resource.MustParse("80Gi"), resource.MustParse("10Gi")
	v := &gpu.Inventory{
		Driver: "570.86.15", CUDA: "12.8",
		GPUs: []gpu.GPU{
			{UUID: "GPU-a", Index: 0, Model: "Fake H100 80GB", MemoryBytes: 80 << 30, PCI: "0000:1a:00.0", NUMA: 2, Health: gpu.Health{State: gpu.Unhealthy, Reason: "Xid 79"}},
			{UUID: "GPU-b", Index: 1, Model: "Fake H100 80GB", MemoryBytes: 80 << 30, PCI: "0000:1b:00.0", NUMA: -1, MIG: true, Slices: []gpu.Slice{
				{UUID: "MIG-b", Profile: "1g.10gb", MemoryBytes: 10 << 30, Health: gpu.Health{State: gpu.Healthy}},
			}},
		},
		Links: gpu.Links{{{}, {NVLinks: 12}}, {{NVLinks: 12}, {}}},
	}
	want := v1alpha1.NodeTopologyStatus{
		Machine: v1alpha1.Machine{GPUs: 2, GPUDriver: "570.86.15", CUDA: "12.8"},
		GPUs: []v1alpha1.GPU{
			{
				ID: "GPU-a", Model: "Fake H100 80GB", Type: "Fake-H100-80GB", Form: "physical", Memory: &memory, BusID: "0000:1a:00.0",
				NUMA: &node, Links: []string{"-", "NV12"}, Health: "Unhealthy", Message: "Xid 79",
			},
			{
				ID: "MIG-b", Index: 1, Model: "Fake H100 80GB", Type: "Fake-H100-80GB-MIG-1g.10gb", Parent: "GPU-b", Form: "virtual",
				Memory: &part, BusID: "0000:1b:00.0", Health: "Unknown",
			},
		},
	}
	var got v1alpha1.NodeTopologyStatus
	ReportGPUs(&got, v)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
