package kubelet

import (
	"cmp"
	"context"
	"maps"
	"slices"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
)

// choose returns the devices that the controller decided on. Without a decision, it
// returns the best-connected GPUs, and packs shares and slices on as few GPUs as
// possible. It leaves out GPUs that were allocated in the other form since the
// kubelet read the list. If too few remain, it returns the required devices only,
// and allocate refuses what the kubelet then picks.
func (g *GPUs) choose(ctx context.Context, resource string, r *pluginapi.ContainerPreferredAllocationRequest) []string {
	d := g.Decider.decide(ctx, asRequest(resource, r))
	if d.ids != nil {
		return d.ids
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	missing := int(r.AllocationSize) - len(r.MustIncludeDeviceIDs)
	free := g.free(r, d.others, missing)
	if missing <= 0 || len(free) < missing {
		return r.MustIncludeDeviceIDs
	}
	v := g.Latest()
	if resource == g.Resource {
		return slices.Concat(r.MustIncludeDeviceIDs, connected(v, free, r.MustIncludeDeviceIDs, missing))
	}
	return slices.Concat(r.MustIncludeDeviceIDs, packed(v, free, missing))
}

// free returns the available devices. It includes those that were decided on for
// other pods only if the rest is too few. Callers hold the lock.
func (g *GPUs) free(r *pluginapi.ContainerPreferredAllocationRequest, others map[string]bool, missing int) []string {
	var free, spare []string
	for _, id := range r.AvailableDeviceIDs {
		switch {
		case slices.Contains(r.MustIncludeDeviceIDs, id) || g.conflicts(id):
		case others[v1alpha1.GPUOf(id)]:
			spare = append(spare, id)
		default:
			free = append(free, id)
		}
	}
	if len(free) < missing {
		return append(free, spare...)
	}
	return free
}

// conflicts reports whether a device's GPU is allocated in the other form, or has no
// shares. Callers hold the lock.
func (g *GPUs) conflicts(id string) bool {
	if isShare(id) {
		return g.inUse(v1alpha1.GPUOf(id)) || g.reserved(v1alpha1.GPUOf(id))
	}
	return g.sharesInUse(id)
}

// connected returns the best-connected GPUs, near the required ones.
func connected(inventory *gpu.Inventory, free, must []string, count int) []string {
	near := func(device int) int {
		far := 0
		for _, m := range positions(inventory, must) {
			if inventory.GPUs[device].NUMA != inventory.GPUs[m].NUMA {
				far++
			}
		}
		return far
	}
	gpus, _ := inventory.Choose(positions(inventory, free), gpu.Wish{Count: count, Near: near})
	var ids []string
	for _, c := range gpus {
		ids = append(ids, inventory.GPUs[c].UUID)
	}
	return ids
}

// positions returns the indices of the devices' GPUs, in the order of the devices.
func positions(inventory *gpu.Inventory, ids []string) []int {
	var all []int
	for _, id := range ids {
		if position, found := inventory.Find(v1alpha1.GPUOf(id)); found {
			all = append(all, position)
		}
	}
	return all
}

// packed returns devices from as few GPUs as possible (best fit): from the GPU
// with the fewest that are enough, else from the one with the most.
func packed(inventory *gpu.Inventory, free []string, count int) []string {
	onGPU := map[int][]string{}
	for _, id := range slices.SortedFunc(slices.Values(free), compareIDs) {
		if position, found := inventory.Find(v1alpha1.GPUOf(id)); found {
			onGPU[position] = append(onGPU[position], id)
		}
	}
	var ids []string
	for len(ids) < count && len(onGPU) > 0 {
		missing := count - len(ids)
		best := slices.MinFunc(slices.Sorted(maps.Keys(onGPU)), func(a, b int) int {
			return cmp.Compare(waste(len(onGPU[a]), missing), waste(len(onGPU[b]), missing))
		})
		ids = append(ids, onGPU[best][:min(missing, len(onGPU[best]))]...)
		delete(onGPU, best)
	}
	return ids
}

// waste orders GPUs for packed: by what is left over on a GPU, then by what it
// lacks.
func waste(have, missing int) int {
	if have >= missing {
		return have - missing
	}
	return 1<<30 - have
}
