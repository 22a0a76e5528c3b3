package cluster

import (
	"maps"
	"slices"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/sched"
)

// decidedCards returns the whole cards of a decision, each once, in order of their
// containers' names.
func decidedCards(p v1alpha1.Placement) []sched.GPUShare {
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
