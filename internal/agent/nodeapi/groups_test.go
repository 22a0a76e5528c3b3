package nodeapi

import (
	"testing"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
)

// TestReservedFor checks which GPU groups reserve a GPU of node n.
func TestReservedFor(t *testing.T) {
	v := &gpu.Inventory{GPUs: []gpu.GPU{{UUID: "GPU-a", Index: 0}, {UUID: "GPU-b", Index: 1, MIG: true, Slices: []gpu.Slice{{UUID: "MIG-b"}}}}}
	group := func(name, node, device string, change func(*v1alpha1.GPUGroup)) *v1alpha1.GPUGroup {
		g := &v1alpha1.GPUGroup{}
		g.Name = name
		spec := v1alpha1.GPUGroupSpec{Nodes: []v1alpha1.GPUGroupNode{{Name: node, GPUs: []string{device}}}, Form: "physical", Enforcement: "strict"}
		g.Status.InForce = &v1alpha1.GPUGroupForm{Spec: spec}
		change(g)
		return g
	}
	same := func(*v1alpha1.GPUGroup) {}
	for name, tc := range map[string]struct {
		group *v1alpha1.GPUGroup
		id    string
		want  string
	}{
		"by UUID":            {group("g", "n", "GPU-a", same), "GPU-a", "g"},
		"by index":           {group("g", "n", "0", same), "GPU-a", "g"},
		"a share":            {group("g", "n", "0", same), "GPU-a::3", "g"},
		"a slice, by GPU":    {group("g", "n", "GPU-b", same), "MIG-b", "g"},
		"another GPU":        {group("g", "n", "1", same), "GPU-a", ""},
		"another node":       {group("g", "m", "0", same), "GPU-a", ""},
		"an unknown GPU":     {group("g", "n", "0", same), "GPU-x", ""},
		"an unknown, listed": {group("g", "n", "GPU-x", same), "GPU-x", "g"},
		"never accepted":     {group("g", "n", "0", func(g *v1alpha1.GPUGroup) { g.Status.InForce = nil }), "GPU-a", ""},
		"advisory":           {group("g", "n", "0", func(g *v1alpha1.GPUGroup) { g.Status.InForce.Spec.Enforcement = "advisory" }), "GPU-a", ""},
		"of parts":           {group("g", "n", "1", func(g *v1alpha1.GPUGroup) { g.Status.InForce.Spec.Form = "virtual" }), "MIG-b", ""},
		"edited, not in force": {group("g", "n", "0", func(g *v1alpha1.GPUGroup) {
			g.Spec.Nodes = []v1alpha1.GPUGroupNode{{Name: "n", GPUs: []string{"1"}}}
		}), "GPU-a", "g"},
	} {
		t.Run(name, func(t *testing.T) {
			groups := []*v1alpha1.GPUGroup{group("z", "n", "GPU-a", func(g *v1alpha1.GPUGroup) { g.Status.InForce = nil }), tc.group}
			if got := reservedFor(groups, "n", v, tc.id); got != tc.want {
				t.Errorf("%s is reserved for %q, want %q", tc.id, got, tc.want)
			}
		})
	}
}
