package kubelet

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
)

// updateHeld sets the held devices to those in the last answer of the kubelet's pod resources API. If
// this answer is new, updateHeld also removes allocations that have ended. The answer can have
// shares even if GPUs are no longer offered in shares. Callers hold g.mu.
func (g *GPUs) updateHeld(before previous) {
	held := map[string]bool{}
	add := func(resource string) { maps.Copy(held, before.held(resource)) }
	for resource := range g.mu.listed {
		add(resource)
	}
	add(g.sharedResource())
	g.keepHeld(held, before.pods)
	g.mu.held = held
	g.mu.elsewhere = g.heldElsewhere(before)
	if before.stale {
		return
	}
	for id, a := range g.mu.allocated {
		if g.over(a, held[id]) {
			delete(g.mu.allocated, id)
		}
	}
}

// heldElsewhere returns the GPUs and slices that containers hold under another resource name than the
// one under which they are offered now. The name changes with GPUOptions.Resource. It also changes if the
// node's device plugin was NVIDIA's with the MIG strategy `single`, which offers slices under the name
// of whole GPUs. For the kubelet, the same ID under two names is two devices, and it would allocate
// the second one to another pod.
func (g *GPUs) heldElsewhere(before previous) map[string]bool {
	v := g.Latest()
	resources := map[string]string{}
	for _, unit := range v.Units() {
		resources[unit.ID] = g.resource(v, unit)
	}
	elsewhere := map[string]bool{}
	for _, pod := range before.pods {
		for _, id := range pod.Devices {
			resource, known := resources[v1alpha1.GPUOf(id)]
			if isShare(id) {
				resource = g.sharedResource()
			}
			if known && !before.held(resource)[id] {
				elsewhere[v1alpha1.GPUOf(id)] = true
			}
		}
	}
	return elsewhere
}

// keepHeld adds to the parameter `held` the devices of pods that the kubelet does not list now
// although the pods have not ended. These are the devices that such a pod held when the kubelet
// listed it last. After its restart, the kubelet lists no pods until it has read them from the API
// server. During this time, a GPU that a container has as a whole could otherwise be allocated in
// shares, and a GPU of which a container has a share could be allocated as a whole. If the device
// plugin does not watch the pods, keepHeld adds nothing. Callers hold g.mu.
func (g *GPUs) keepHeld(held map[string]bool, listed map[types.NamespacedName]PodDevices) {
	running := g.running()
	for id, pod := range g.mu.holders {
		if _, is := listed[pod]; !is && running[pod] {
			held[id] = true
		} else {
			delete(g.mu.holders, id)
		}
	}
	for pod, devices := range listed {
		for _, id := range devices.Devices {
			if held[id] { // the pod may also have devices that are no GPUs, shares or slices, and these are never in `held`
				g.mu.holders[id] = pod
			}
		}
	}
}

// running returns the node's pods that have not ended, as far as the device plugin knows the pods.
func (g *GPUs) running() map[types.NamespacedName]bool {
	all := map[types.NamespacedName]bool{}
	if g.Pods == nil {
		return all
	}
	pods, _ := g.Pods()
	for _, pod := range pods {
		all[nameOf(pod)] = !v1alpha1.Ended(pod)
	}
	return all
}

// allocation is a device that the kubelet allocated to a container. It ends when the device is
// known to be free again:
//
//   - If the kubelet's pod resources API has listed the device, the allocation ends when this API
//     no longer lists it. The API lists the devices of app containers and sidecars once the kubelet
//     has admitted their pod.
//   - If the API does not list the device within allocationGrace, there are two
//     possibilities: the kubelet did not admit the pod, or the container is an init container,
//     whose devices the API never lists. The device plugin API does not name the pod. So the
//     device may be in use by any pod that has such an init container when allocationGrace has
//     passed, and the allocation ends when all these pods have ended. If the device plugin does
//     not watch the pods, the allocation ends after allocationGrace.
//
// The type GPUs records allocations because, for the kubelet, a GPU and its shares are different
// devices. The kubelet itself makes sure that it does not allocate one device to two pods at a
// time. But without the record, it would allocate shares of a GPU that is in use as a whole.
type allocation struct {
	resource string
	at       time.Time
	listed   bool
	owners   map[types.UID]bool // the pods that may have the device; nil until allocationGrace has passed
}

// The method `over` reports whether the allocation has ended. The parameter `listed` says whether
// the kubelet lists the device now.
func (g *GPUs) over(a *allocation, listed bool) bool {
	switch {
	case listed:
		a.listed = true
		return false
	case a.listed:
		return true
	case g.Now().Sub(a.at) < allocationGrace:
		return false
	case g.Pods == nil: // the device plugin does not watch the pods, so it cannot find out which pod has the device
		return true
	}
	pods, known := g.Pods()
	if !known {
		return false
	}
	owners := initOwners(pods, a.resource)
	if a.owners == nil {
		a.owners = owners
	}
	for uid := range a.owners {
		if !owners[uid] {
			delete(a.owners, uid)
		}
	}
	return len(a.owners) == 0
}

// initOwners returns the pods that have not ended and that have an init container with a limit
// for the resource. It leaves out sidecars, whose devices the kubelet lists.
func initOwners(pods []*corev1.Pod, resource string) map[types.UID]bool {
	owners := map[types.UID]bool{}
	for _, pod := range pods {
		for _, container := range pod.Spec.InitContainers {
			sidecar := container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
			if limit := container.Resources.Limits[corev1.ResourceName(resource)]; !limit.IsZero() && !sidecar && !v1alpha1.Ended(pod) {
				owners[pod.UID] = true
			}
		}
	}
	return owners
}
