package podspec

import "github.com/numalet/numalet/pkg/topology"

// Container is what one container with exclusive CPUs asks for.
type Container struct {
	Name string
	Kind Kind
	CPUs int // > 0
	// PerNode fixes the count on each NUMA node (explicit asks, placements);
	// nil leaves it to the pod's policy. Its values add up to CPUs.
	PerNode map[topology.NodeID]int
	// MemoryBytes > 0 binds the container's memory to the NUMA node of its
	// CPUs (Single only) and counts this much there; 0 leaves memory alone.
	MemoryBytes uint64
}
