package node

import (
	"slices"
	"strings"

	"github.com/numalet/numalet/api/v1alpha1"
)

// checkGPUs rejects a container's pod if the kubelet allocated other GPUs to the container than
// numalet-controller decided on. The device plugin tells the kubelet which GPUs it prefers (see the
// type Decider in internal/deviceplugin/kubelet), but the kubelet may allocate others. checkGPUs
// runs before the container is created, when both the controller's decision and the kubelet's
// allocation are final.
func (s subject) checkGPUs() error {
	p, _ := s.placement()
	decided, given := p.Containers[s.Name].GPUs, v1alpha1.ParseAllocatedGPUs(s.Annotations)
	if asDecided(p, decided, given) {
		return nil
	}
	return rejection(s.pod, notDecided(s.Name, decided, given))
}

func notDecided(container string, decided, given []string) *v1alpha1.Refusal {
	if len(given) == 0 {
		return refuse(NotDecided, "the controller decided on the GPUs %s for container %q, and numalet-deviceplugin gave it none: another device plugin serves them, see its /readyz",
			list(decided), container)
	}
	return refuse(NotDecided, "the kubelet gave container %q the GPUs %s, and the controller decided on %s", container, list(given), list(decided))
}

// asDecided reports whether a container has the GPUs that numalet-controller decided on. Containers
// of a pod that run one after another may use the same GPUs, and the kubelet assigns the pod's GPUs
// to them in any order. For the containers of such a pod, asDecided checks only that the container
// has enough of the pod's GPUs. A container may also have devices on which the controller did not
// decide, such as MIG slices in addition to whole GPUs. The kubelet chooses these devices.
func asDecided(p v1alpha1.Placement, decided, given []string) bool {
	wanted := decided
	if p.SharesGPUs() {
		wanted = p.GPUs()
	}
	found := 0
	for _, id := range wanted {
		if slices.Contains(given, id) {
			found++
		}
	}
	return found >= len(decided)
}

// list returns the sorted IDs, separated by commas, for a message.
func list(ids []string) string { return strings.Join(slices.Sorted(slices.Values(ids)), ", ") }

// checkGroups refuses a container that has a device of a GPU group, if numalet-controller did not
// assign the device to its pod. The device is a GPU, a MIG slice or a share of a GPU. The kubelet
// can allocate such a device, because other schedulers, pods with spec.nodeName and static pods
// ignore GPU groups. Shares of GPUs are always chosen by the kubelet, because the controller does
// not assign them. The refused pod keeps the device until the pod ends, so no other pod gets the
// device before that. The device plugin cannot refuse the device in Allocate, because the device
// plugin API does not name the pod.
func (s subject) checkGroups() error {
	if s.groupOf == nil {
		return nil
	}
	p, _ := s.placement()
	for _, id := range slices.Sorted(slices.Values(v1alpha1.ParseAllocatedGPUs(s.Annotations))) {
		if slices.Contains(p.GPUs(), id) {
			continue
		}
		switch group, known := s.groupOf(id); {
		case !known:
			return refuse(NotReady, "the agent does not know the GPU groups yet, and container %q has the GPU %s, which may be in one", s.Name, id)
		case group == "":
		case s.cfg.isPlaced(s.Sandbox):
			return rejection(s.pod, refuse(NotDecided, "the kubelet gave container %q the GPU %s of GPU group %s, and the controller decided on other GPUs", s.Name, id, group))
		default:
			return refuse(GPUReserved, "the kubelet gave container %q the GPU %s, which is reserved for GPU group %s; delete the pod, and let the controller schedule it (spec.schedulerName)", s.Name, id, group)
		}
	}
	return nil
}
