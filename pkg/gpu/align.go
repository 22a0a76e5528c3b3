package gpu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/numalet/numalet/pkg/topology"
)

// ChooseAligned chooses GPUs that are all on one NUMA node. Of all such sets of GPUs, it chooses
// the best-connected one. It returns the chosen GPUs and their NUMA node. The function given as
// `fits` reports whether a NUMA node has enough of the other resources that the container
// requests, such as CPUs. If `fits` is nil, every NUMA node has enough. The error is an
// *Unaligned.
func (v *Inventory) ChooseAligned(free []int, count int, fits func(topology.NodeID) bool) ([]int, topology.NodeID, error) {
	free = slices.Compact(slices.Sorted(slices.Values(free)))
	refusal := &Unaligned{Count: count, Free: map[topology.NodeID]int{}}
	onNode := map[topology.NodeID][]int{}
	for _, c := range free {
		onNode[v.GPUs[c].NUMA] = append(onNode[v.GPUs[c].NUMA], c)
		refusal.Free[v.GPUs[c].NUMA]++
	}
	var found *score
	for _, node := range slices.Sorted(maps.Keys(onNode)) {
		if node == topology.Unknown || count < 1 || len(onNode[node]) < count {
			continue
		}
		if fits != nil && !fits(node) {
			refusal.Full = append(refusal.Full, node)
			continue
		}
		if set := v.best(free, onNode[node], Wish{Count: count}); found == nil || set.compare(found) < 0 {
			found = set
		}
	}
	if found == nil {
		return nil, topology.Unknown, refusal
	}
	return found.gpus, v.GPUs[found.gpus[0]].NUMA, nil
}

// Unaligned is the error that no NUMA node has the requested GPUs and other resources.
type Unaligned struct {
	Count int
	Free  map[topology.NodeID]int // number of free GPUs by NUMA node; the key Unknown counts GPUs whose NUMA node is not known
	Full  []topology.NodeID       // NUMA nodes that have enough free GPUs, but too few other resources: the function `fits` returned false for them
}

// Error says how many GPUs were requested, how many are free on each NUMA node, and
// what the user can do.
func (u *Unaligned) Error() string {
	have := make([]string, 0, len(u.Free))
	for _, node := range slices.Sorted(maps.Keys(u.Free)) {
		if node != topology.Unknown {
			have = append(have, fmt.Sprintf("numa%d %d", node, u.Free[node]))
		}
	}
	if n := u.Free[topology.Unknown]; n > 0 {
		have = append(have, fmt.Sprintf("%d on an unknown NUMA node", n))
	}
	if len(have) == 0 {
		have = []string{"none"}
	}
	return fmt.Sprintf("%d GPUs on one NUMA node were requested, but only these are free: %s%s; request fewer, use a CPU policy other than single, or wait",
		u.Count, strings.Join(have, ", "), u.full())
}

func (u *Unaligned) full() string {
	if len(u.Full) == 0 {
		return ""
	}
	names := make([]string, len(u.Full))
	for i, node := range u.Full {
		names[i] = fmt.Sprintf("numa%d", node)
	}
	return " (too few CPUs or too little memory: " + strings.Join(names, ", ") + ")"
}
