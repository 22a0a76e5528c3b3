package nodemap

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/api/v1alpha1"
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
