package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// Policy says how a container's CPUs fall on the machine's NUMA nodes.
type Policy uint8

// The policies of the annotation numalet.dev/cpu-policy. The zero value is
// Random, which is also what a pod gets that names none.
const (
	Random Policy = iota // the system chooses
	Spread               // evenly over every NUMA node that has CPUs, ±1
	Single               // all on one NUMA node
)

// Kind is the role of a container in its pod's life.
type Kind uint8

// App containers run together to the end; an Init container runs alone before
// them, so what follows it may reuse its CPUs, each by only one container; a
// Sidecar (an init container with restartPolicy Always) runs from its start to
// the end: it may reuse too, but lends to nobody.
const (
	App Kind = iota
	Init
	Sidecar
)

// Want is what one container asks for.
type Want struct {
	Container string
	Kind      Kind
	CPUs      int // > 0
	// PerNode fixes the count on each NUMA node (explicit asks, placements);
	// nil leaves it to the pod's policy. Its values add up to CPUs.
	PerNode map[topology.NodeID]int
	// MemoryBytes > 0 binds the container's memory to the NUMA node of its
	// CPUs (Single only) and counts this much there; 0 leaves memory alone.
	MemoryBytes uint64
}

// Pod is what one pod asks for: its exclusive containers in the order in which
// they run (init containers and sidecars in spec order, then apps in spec order).
type Pod struct {
	UID        string
	Policy     Policy
	Seed       uint64 // of Random; equal seeds choose equally
	Containers []Want
}

// Claim is what one container holds.
type Claim struct {
	Container   string            `json:"container"`
	Kind        Kind              `json:"kind"`
	CPUs        cpuset.Set        `json:"cpus"`
	Mems        []topology.NodeID `json:"mems,omitempty"` // nil: memory is not bound
	MemoryBytes uint64            `json:"memoryBytes,omitempty"`
}

// Grant is what one pod holds: its claims in the order of Pod.Containers. It is
// what the checkpoint stores and Restore takes back.
type Grant struct {
	UID    string  `json:"uid"`
	Policy Policy  `json:"policy"`
	Claims []Claim `json:"claims"`
}

// Claim returns what the named container holds.
func (g Grant) Claim(container string) (Claim, bool) {
	for _, c := range g.Claims {
		if c.Container == container {
			return c, true
		}
	}
	return Claim{}, false
}

// CPUs returns every CPU that the pod holds.
func (g Grant) CPUs() cpuset.Set { return held(g.Claims) }
