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

// choose returns the devices that the controller chose for the container. If the controller made no
// choice, choose returns the best-connected GPUs, or shares and slices of as few GPUs as possible.
// In this case, it leaves out shares of a GPU that is allocated whole, and whole GPUs of which a
// share is allocated. The kubelet can still offer these devices, because it may not have received
// the list yet in which they are unhealthy. If too few devices remain, choose returns only those
// that the kubelet requires (MustIncludeDeviceIDs). The kubelet then picks the rest itself, and the
// method `allocate` refuses devices that conflict.
func (g *GPUs) choose(ctx context.Context, resource string, r *pluginapi.ContainerPreferredAllocationRequest) []string {
	d := g.Decider.decide(ctx, asRequest(resource, r))
	if d.ids != nil {
		return d.ids
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	missing := int(r.AllocationSize) - len(r.MustIncludeDeviceIDs)
	free := g.free(r, d, missing)
	if missing <= 0 || len(free) < missing {
		return r.MustIncludeDeviceIDs
	}
	v := g.Latest()
	if resource == g.Resource {
		return slices.Concat(r.MustIncludeDeviceIDs, connected(v, free, r.MustIncludeDeviceIDs, missing))
	}
	return slices.Concat(r.MustIncludeDeviceIDs, packed(v, free, missing))
}

// free returns the available devices that can still be chosen. It leaves out the devices that the
// decision says to avoid, unless too few devices would then remain. Devices that containers hold come
// last: with a GPU that the controller chose for another pod, at most a pod is rejected, but with a
// GPU that another container holds, two containers would use it. Callers hold g.mu.
func (g *GPUs) free(r *pluginapi.ContainerPreferredAllocationRequest, d decision, missing int) []string {
	var free, others, held []string
	for _, id := range r.AvailableDeviceIDs {
		switch {
		case slices.Contains(r.MustIncludeDeviceIDs, id) || g.conflicts(id):
		case d.held[id]:
			held = append(held, id)
		case d.others[v1alpha1.GPUOf(id)]:
			others = append(others, id)
		default:
			free = append(free, id)
		}
	}
	for _, worse := range [][]string{others, held} {
		if len(free) < missing {
			free = append(free, worse...)
		}
	}
	return free
}

// conflicts reports whether a device cannot be allocated. A share cannot be allocated if
// its GPU is allocated whole. It cannot be allocated either if its GPU is in a GPU group,
// because such a GPU must not have shares. A whole GPU cannot be allocated if a share of
// it is allocated. No device can be allocated if a container has it under another resource
// name. Callers hold g.mu.
func (g *GPUs) conflicts(id string) bool {
	if g.mu.elsewhere[v1alpha1.GPUOf(id)] {
		return true
	}
	if isShare(id) {
		return g.inUse(v1alpha1.GPUOf(id)) || g.reserved(v1alpha1.GPUOf(id))
	}
	return g.sharesInUse(id)
}

// connected returns those free GPUs that are best connected to each other. The parameter `count` is
// the number of GPUs to return. The parameter `must` has the GPUs that the kubelet requires. If
// several sets of GPUs are connected equally well, the function prefers GPUs on the NUMA nodes of
// the required GPUs.
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

// positions returns the index in the inventory of each device's GPU, in the order of
// the devices.
func positions(inventory *gpu.Inventory, ids []string) []int {
	var all []int
	for _, id := range ids {
		if position, found := inventory.Find(v1alpha1.GPUOf(id)); found {
			all = append(all, position)
		}
	}
	return all
}

// packed returns free devices from as few GPUs as possible (best fit). The parameter `count` is the
// number of devices to return. If one GPU has enough free devices, it uses only that GPU. Of
// several such GPUs, it uses the one with the fewest free devices. If no GPU has enough, it takes
// all free devices of the GPU that has the most, and then continues in the same way with the other
// GPUs.
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

// waste says how badly a GPU fits a request: the function `packed` uses the GPU with the
// smallest result. The parameter `have` is the number of free devices of the GPU, and
// `missing` is the number of devices that are still needed. The results are ordered as
// follows. A GPU with enough free devices comes before a GPU with too few. Of GPUs with
// enough free devices, the one with the fewest comes first. Of GPUs with too few, the one
// with the most comes first.
func waste(have, missing int) int {
	if have >= missing {
		return have - missing
	}
	return 1<<30 - have
}
