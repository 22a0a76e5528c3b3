package nodeapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
)

// Groups is the cache of all GPUGroups. Groups have no field for a selector by node, and
// there are few.
type Groups struct{ informer cache.SharedIndexInformer }

// NewGroups returns a cache that is empty until Run.
func NewGroups(resources dynamic.Interface) (*Groups, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(resources, v1alpha1.GPUGroupResource(), "", 0, nil, nil).Informer()
	if err := informer.SetTransform(asGroup); err != nil {
		return nil, fmt.Errorf("watch GPUGroups: %w", err)
	}
	return &Groups{informer}, nil
}

// asGroup decodes an object once, when it arrives.
func asGroup(obj any) (any, error) {
	raw, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	raw.SetManagedFields(nil)
	g := &v1alpha1.GPUGroup{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, g); err != nil {
		return nil, fmt.Errorf("decode GPUGroup %q: %w", raw.GetName(), err)
	}
	return g, nil
}

// Run fills the cache and keeps it up to date until ctx ends.
func (g *Groups) Run(ctx context.Context) error {
	g.informer.RunWithContext(ctx)
	return nil
}

// all returns the groups in the cache, in no order, and whether all are known.
func (g *Groups) all() (all []*v1alpha1.GPUGroup, known bool) {
	for _, obj := range g.informer.GetStore().List() {
		all = append(all, obj.(*v1alpha1.GPUGroup))
	}
	return all, g.informer.HasSynced()
}

// Reserved returns the group that reserves a GPU of a node, or a slice or share of it,
// and whether the groups are known. v is the node's GPUs.
func (g *Groups) Reserved(node string, v *gpu.Inventory, id string) (group string, known bool) {
	all, known := g.all()
	return reservedFor(all, node, v, id), known
}

// reservedFor returns the first group by name, in the form that is in force, from which
// the node keeps others. Groups of parts are not in force on nodes: only the kubelet
// decides which part a container gets.
func reservedFor(groups []*v1alpha1.GPUGroup, node string, v *gpu.Inventory, id string) string {
	names := namesOf(v, id)
	var found []string
	for _, g := range groups {
		form := g.Status.InForce
		if form == nil || form.Spec.Enforcement == v1alpha1.EnforcementAdvisory || form.Spec.Form == gpu.Virtual.String() {
			continue
		}
		for _, n := range form.Spec.Nodes {
			if n.Name == node && slices.ContainsFunc(n.GPUs, func(name string) bool { return slices.Contains(names, name) }) {
				found = append(found, g.Name)
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.MinFunc(found, cmp.Compare[string])
}

// namesOf returns the names by which a group may list a device: the UUIDs of the slice
// and of the GPU, and the GPU's index.
func namesOf(v *gpu.Inventory, id string) []string {
	names := []string{v1alpha1.GPUOf(id)}
	if position, found := v.Find(names[0]); found {
		device := v.GPUs[position]
		names = append(names, device.UUID, strconv.Itoa(device.Index))
	}
	return names
}
