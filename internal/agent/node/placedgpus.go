package node

import (
	"slices"
	"strings"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// checkGPUs rejects a container's pod if the kubelet allocated other GPUs to the
// container than the controller decided on. The device plugin prefers the decided
// ones (kubelet.Decider), but the kubelet need not follow. Here, before the creation
// of the container, both the decision and the allocation are certain.
func (n *Node) checkGPUs(c workload.Container) error {
	if !n.isPlaced(c.Sandbox) {
		return nil
	}
	p, err := v1alpha1.ParsePlacement(c.Sandbox.Annotations[v1alpha1.AnnotationPlacement])
	if err != nil {
		return nil // reading the request refuses the pod for it
	}
	decided, given := p.Containers[c.Name].GPUs, v1alpha1.ParseAllocatedGPUs(c.Annotations)
	if asDecided(p, decided, given) {
		return nil
	}
	return n.reject(c.Sandbox, notDecided(c.Name, decided, given))
}

func notDecided(container string, decided, given []string) *v1alpha1.Refusal {
	if len(given) == 0 {
		return refuse(NotDecided, "the controller decided on the GPUs %s for container %q, and numalet-deviceplugin gave it none: another device plugin serves them, see its /readyz",
			list(decided), container)
	}
	return refuse(NotDecided, "the kubelet gave container %q the GPUs %s, and the controller decided on %s", container, list(given), list(decided))
}

// asDecided reports whether a container has the decided GPUs. Containers that share
// GPUs run one after another, and the kubelet assigns the pod's GPUs to them in any
// order, so the right number of the pod's GPUs is enough. The kubelet chooses GPUs
// without a decision, such as slices beside whole cards.
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

// list returns sorted IDs, separated by commas.
func list(ids []string) string { return strings.Join(slices.Sorted(slices.Values(ids)), ", ") }
