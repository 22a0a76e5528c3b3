package nodemap

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/topology/picture"
)

func TestBar(t *testing.T) {
	for name, tc := range map[string]struct {
		counts NUMA
		want   string
	}{
		"empty":              {NUMA{Capacity: 8, Allocatable: 8, Available: 8}, "[························]"},
		"full":               {NUMA{Capacity: 8, Allocatable: 8}, "[########################]"},
		"some of each":       {NUMA{Capacity: 8, Allocatable: 6, Available: 2}, "[############······rrrrrr]"},
		"disabled":           {NUMA{Capacity: 8}, "[rrrrrrrrrrrrrrrrrrrrrrrr]"},
		"few of many":        {NUMA{Capacity: 256, Allocatable: 255, Available: 254}, "[#······················r]"},
		"one free of many":   {NUMA{Capacity: 256, Allocatable: 255, Available: 1}, "[######################·r]"},
		"none free, uneven":  {NUMA{Capacity: 28, Allocatable: 26}, "[#######################r]"},
		"one of each":        {NUMA{Capacity: 48, Allocatable: 2, Available: 1}, "[#·rrrrrrrrrrrrrrrrrrrrrr]"},
		"no CPUs":            {NUMA{}, "[                        ]"},
		"one free, no other": {NUMA{Capacity: 256, Allocatable: 256, Available: 1}, "[#######################·]"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, bar(tc.counts)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadFails(t *testing.T) {
	for want, status := range map[string]v1alpha1.NodeTopologyStatus{
		"read reserved CPUs":                       {Machine: v1alpha1.Machine{ReservedCPUs: "x"}},
		"read CPUs of NUMA node 3":                 {NUMA: []v1alpha1.NUMANode{{ID: 3, CPUs: "3-1"}}},
		"read cores of a cache":                    {Caches: []v1alpha1.Cache{{Cores: []string{"0,"}}}},
		"read CPUs of container main of pod ns/p1": {Pods: []v1alpha1.PodCPUs{{Namespace: "ns", Name: "p1", Containers: []v1alpha1.ContainerCPUs{{Name: "main", CPUs: "a"}}}}},
	} {
		_, err := Read(&v1alpha1.NodeTopology{Status: status})
		if got := fmt.Sprint(err); len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("error %q, want %q", got, want)
		}
	}
}

// TestFreeGPUs checks that only healthy GPUs count as free, as for the controller.
func TestFreeGPUs(t *testing.T) {
	for health, want := range map[string]int{"Healthy": 1, "Unhealthy": 0, "Unknown": 0} {
		for _, g := range []v1alpha1.GPU{{ID: "GPU-1", Health: health}, {ID: "MIG-1", Parent: "GPU-1", Health: health}} {
			if _, free := CountGPUs(&v1alpha1.NodeTopologyStatus{GPUs: []v1alpha1.GPU{g}}); free != want {
				t.Errorf("%s is %s: %d GPUs are free, want %d", g.ID, health, free, want)
			}
		}
	}
}

// TestFreeGPUsOfNUMANodes checks that the summary of a node counts free GPUs by the same rules as
// CountGPUs. A GPU whose NUMA node is unknown belongs to the only NUMA node of a machine, if the
// machine has only one.
func TestFreeGPUsOfNUMANodes(t *testing.T) {
	one := int32(1)
	numa := func(id int32) v1alpha1.NUMANode {
		return v1alpha1.NUMANode{ID: id, CPUCounts: v1alpha1.CPUCounts{Capacity: 8}}
	}
	unplaced, unhealthy, placed := v1alpha1.GPU{ID: "GPU-1", Health: "Healthy"}, v1alpha1.GPU{ID: "GPU-2", Health: "Unhealthy"}, v1alpha1.GPU{ID: "GPU-3", Health: "Healthy", NUMA: &one}
	for name, tc := range map[string]struct {
		numa []v1alpha1.NUMANode
		gpus []v1alpha1.GPU
		want [][2]int32 // by NUMA node: GPUs, and free GPUs
	}{
		"one NUMA node":  {[]v1alpha1.NUMANode{numa(1)}, []v1alpha1.GPU{unplaced, unhealthy, placed}, [][2]int32{{3, 2}}},
		"two NUMA nodes": {[]v1alpha1.NUMANode{numa(0), numa(1)}, []v1alpha1.GPU{unplaced, unhealthy, placed}, [][2]int32{{0, 0}, {1, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got [][2]int32
			for _, n := range Summarize(&v1alpha1.NodeTopology{Status: v1alpha1.NodeTopologyStatus{NUMA: tc.numa, GPUs: tc.gpus}}).NUMA {
				got = append(got, [2]int32{n.GPUs, n.FreeGPUs})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("GPUs and free GPUs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGPUsWithoutSlices checks that a GPU in MIG mode without slices, which a NodeTopology counts but
// does not list, is among the GPUs of the node. It is not free, and the picture of the node says
// what it is.
func TestGPUsWithoutSlices(t *testing.T) {
	node := &v1alpha1.NodeTopology{Status: v1alpha1.NodeTopologyStatus{
		Machine: v1alpha1.Machine{GPUs: 3},
		NUMA:    []v1alpha1.NUMANode{{ID: 0, CPUs: "0-1"}},
		GPUs: []v1alpha1.GPU{
			{ID: "GPU-1", Model: "A", NUMA: new(int32), Health: "Healthy"},
			{ID: "MIG-1", Health: "Healthy", Index: 1, Model: "A", Type: "A-MIG-1g.10gb", Parent: "GPU-2", NUMA: new(int32)},
		},
		GPUHolders: []v1alpha1.GPUHolder{{UID: "u", Devices: []string{"MIG-1"}}},
	}}
	if all, free := CountGPUs(&node.Status); all != 3 || free != 1 {
		t.Errorf("%d GPUs, %d of them free, want 3 and 1", all, free)
	}
	read, err := Read(node)
	if err != nil {
		t.Fatal(err)
	}
	var text, svg strings.Builder
	if err := errors.Join(picture.DrawUse(&text, read.Machine, read.GPUs, read.Use), picture.SVG(&svg, read.Machine, read.GPUs, read.Use)); err != nil {
		t.Fatal(err)
	}
	if want := "GPU unknown  model unknown · NUMA unknown\n             MIG, no slices\n"; !strings.Contains(text.String(), want) {
		t.Errorf("text:\n%s\nwant\n%s", &text, want)
	}
	if want := "GPU unknown"; !strings.Contains(svg.String(), want) {
		t.Errorf("no %q in the SVG:\n%s", want, &svg)
	}
}
