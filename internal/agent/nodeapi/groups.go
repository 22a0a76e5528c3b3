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

// Groups is a cache of the GPUGroups of the whole cluster. It is not limited to those of the
// agent's node, because the API server cannot select GPUGroups by node, and a cluster has few
// GPUGroups.
type Groups struct{ informer cache.SharedIndexInformer }

// NewGroups returns a cache that stays empty until Run is called.
func NewGroups(resources dynamic.Interface) (*Groups, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(resources, v1alpha1.GPUGroupResource(), "", 0, nil, nil).Informer()
	if err := informer.SetTransform(asGroup); err != nil {
		return nil, fmt.Errorf("watch GPUGroups: %w", err)
	}
	return &Groups{informer}, nil
}

// asGroup decodes a GPUGroup when the informer receives it, so that the cache has decoded objects.
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

// Run fills the cache of GPUGroups and keeps the cache up to date until ctx ends.
func (g *Groups) Run(ctx context.Context) error {
	g.informer.RunWithContext(ctx)
	return nil
}

// WaitForSync returns nil once the cache has the first complete list, or an error if ctx ends before
// that.
func (g *Groups) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), g.informer.HasSynced) {
		return fmt.Errorf("list the GPUGroups from the API server: %w", ctx.Err())
	}
	return nil
}

// all returns the GPUGroups in the cache, in no particular order. The result `known` is false until
// the cache has the first complete list.
func (g *Groups) all() (all []*v1alpha1.GPUGroup, known bool) {
	for _, obj := range g.informer.GetStore().List() {
		all = append(all, obj.(*v1alpha1.GPUGroup))
	}
	return all, g.informer.HasSynced()
}

// Reserved returns the GPU group that reserves the device with this ID on a node, or "" if there is
// none. The device is a GPU, or a MIG slice or share of a GPU. v is the inventory of the node's
// GPUs. The result `known` is false until the cache has the first complete list of GPUGroups.
func (g *Groups) Reserved(node string, v *gpu.Inventory, id string) (group string, known bool) {
	all, known := g.all()
	return reservedFor(all, node, v, id), known
}

// reservedFor returns the GPU group that reserves a device of a node, or "" if there is none. If
// several groups reserve the device, it returns the first by name. Of each group, it uses the
// latest specification that numalet-controller has accepted. It skips advisory groups, which only
// numalet-controller enforces. It also skips groups of MIG slices or shares, because only the
// kubelet decides which slice or share a container gets.
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

// namesOf returns the names by which a GPU group may list a device: the UUID of the MIG slice, the
// UUID of the GPU, and the index of the GPU.
func namesOf(v *gpu.Inventory, id string) []string {
	names := []string{v1alpha1.GPUOf(id)}
	if position, found := v.Find(names[0]); found {
		device := v.GPUs[position]
		names = append(names, device.UUID, strconv.Itoa(device.Index))
	}
	return names
}
