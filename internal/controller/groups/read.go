package groups

import (
	"strings"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/topology"
)

// Read converts a GPUGroup object to a group.Group. The form in the object's spec is physical
// (whole GPUs) or virtual (parts of GPUs). If it is neither, the group gets the form gpu.AnyForm,
// which stands for a missing form. Groups with this form are never accepted.
func Read(object *v1alpha1.GPUGroup) group.Group {
	g := group.Group{
		Name: object.Name, Tenants: object.Spec.Tenants, Type: object.Spec.Type, Containers: object.Spec.Containers,
	}
	if form, err := gpu.ParseForm(object.Spec.Form); err == nil {
		g.Form = form
	}
	if q := object.Spec.Quota; q != nil {
		g.Quota = sched.MilliGPU(v1alpha1.MilliAmount(*q))
	}
	for _, node := range object.Spec.Nodes {
		g.Bindings = append(g.Bindings, group.Binding{Node: node.Name, GPUs: node.GPUs})
	}
	return g
}

// Object converts a group.Group to a GPUGroup object. It sets only the fields that Read reads.
func Object(g group.Group) *v1alpha1.GPUGroup {
	object := &v1alpha1.GPUGroup{Spec: v1alpha1.GPUGroupSpec{Tenants: g.Tenants, Form: g.Form.String(), Type: g.Type, Containers: g.Containers}}
	object.Name = g.Name
	if g.Quota > 0 {
		most := gpus(g.Quota)
		object.Spec.Quota = &most
	}
	for _, b := range g.Bindings {
		object.Spec.Nodes = append(object.Spec.Nodes, v1alpha1.GPUGroupNode{Name: b.Node, GPUs: b.GPUs})
	}
	return object
}

// Inventory returns the GPUs of a node from its NodeTopology, which the node's agent writes. The
// result has the whole GPUs, and the GPUs in MIG mode with their slices. The agent reports only the
// slices of a GPU in MIG mode, so Inventory adds the GPU itself. If the reported links between GPUs
// contradict each other, Inventory leaves the links out.
func Inventory(topology *v1alpha1.NodeTopology) *gpu.Inventory {
	v, cut := &gpu.Inventory{}, map[string]int{}
	var links [][]string // rows of links, one for each GPU
	for i := range topology.Status.GPUs {
		g := &topology.Status.GPUs[i]
		if g.Form != gpu.Virtual.String() {
			v.GPUs = append(v.GPUs, gpu.GPU{UUID: g.ID, Index: int(g.Index), Model: g.Model, NUMA: near(g)})
			links = append(links, g.Links)
			continue
		}
		at, known := cut[g.Parent]
		if !known {
			at = len(v.GPUs)
			cut[g.Parent] = at
			v.GPUs = append(v.GPUs, gpu.GPU{UUID: g.Parent, Index: int(g.Index), Model: g.Model, NUMA: near(g), MIG: true})
			links = append(links, nil)
		}
		profile := strings.TrimPrefix(g.Type, gpu.SliceTypeName(g.Model, ""))
		v.GPUs[at].Slices = append(v.GPUs[at].Slices, gpu.Slice{UUID: g.ID, Profile: profile})
	}
	if table, err := gpu.ReadLinks(links); err == nil {
		v.Links = table
	}
	return v
}

func near(g *v1alpha1.GPU) topology.NodeID {
	if g.NUMA == nil {
		return topology.Unknown
	}
	return topology.NodeID(*g.NUMA)
}
