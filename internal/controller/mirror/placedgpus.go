package mirror

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// decidedGPUs returns the whole GPUs in a placement, ordered by container name. Each GPU appears
// only once.
func decidedGPUs(p v1alpha1.Placement) []sched.GPUShare {
	var shares []sched.GPUShare
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(p.Containers)) {
		for _, id := range p.Containers[name].GPUs {
			if !seen[id] {
				shares = append(shares, sched.GPUShare{ID: id, Milli: sched.WholeGPU})
			}
			seen[id] = true
		}
	}
	return shares
}

// wants returns the number of whole GPUs of each container that requests any.
func wants(pod *corev1.Pod, gpus string) (all []sched.ContainerGPUs) {
	for _, c := range v1alpha1.InRunOrder(pod) {
		limit := c.Resources.Limits[corev1.ResourceName(gpus)]
		if n := v1alpha1.Amount(limit); n > 0 {
			all = append(all, sched.ContainerGPUs{Container: c.Name, Kind: c.Kind, Count: int(n)})
		}
	}
	return all
}
