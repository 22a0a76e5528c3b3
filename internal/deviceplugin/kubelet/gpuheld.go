package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
)

// allocation is a device that the kubelet allocated to a container. It lasts until the
// end of the container's pod is seen:
//
//   - If the kubelet lists the device, until it no longer does. It lists the devices of
//     app containers and sidecars once their pod is admitted.
//   - If it does not list the device within allocationGrace, the container is an init
//     container, or the pod was not admitted. The device plugin API does not name the
//     pod, so the device is held until all pods have ended that may have it.
//
// To keep only the last allocations was rejected: the kubelet gives a GPU to no other container
// before its pod has ended, but for the kubelet the shares of that GPU are other devices.
type allocation struct {
	resource string
	at       time.Time
	listed   bool
	owners   map[types.UID]bool // the pods that may have it; nil until the grace is over
}

// over reports whether the device is free again. listed says whether the kubelet lists
// it now.
func (g *GPUs) over(a *allocation, listed bool) bool {
	switch {
	case listed:
		a.listed = true
		return false
	case a.listed:
		return true
	case g.Now().Sub(a.at) < allocationGrace:
		return false
	case g.Pods == nil: // nobody can tell
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

// initOwners returns the pods that have not ended and have init containers with devices
// of a resource that the kubelet does not list.
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
