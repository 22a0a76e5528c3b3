package pool

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// Pod is a pod's request: its containers with exclusive CPUs, in the order in which they run (init
// containers and sidecars in spec order, then app containers in spec order).
type Pod struct {
	UID        string
	Policy     podspec.Policy
	Seed       uint64 // seed of the policy "random"; equal seeds give equal choices
	Containers []podspec.Container
}

// Claim is the CPUs that one container holds, and the memory that it binds.
type Claim struct {
	Container   string            `json:"container"`
	Kind        podspec.Kind      `json:"kind"`
	CPUs        cpuset.Set        `json:"cpus"`
	Mems        []topology.NodeID `json:"mems,omitempty"` // the NUMA nodes to which the container's memory is bound; nil if it is not bound
	MemoryBytes uint64            `json:"memoryBytes,omitempty"`
	// Grown has one set for each call of Grow, oldest first: the CPUs that this call added. They
	// are also in the field CPUs.
	Grown []cpuset.Set `json:"grown,omitempty"`
	// Leaving are CPUs that the container has given back (Ledger.Shrink). The pod holds them until
	// Ledger.Return is called. Until then, Ledger.Grow can give them to the container again.
	Leaving cpuset.Set `json:"leaving,omitzero"`
}

// held returns the CPUs that no other pod can get because of this claim.
func (c Claim) held() cpuset.Set { return c.CPUs.Union(c.Leaving) }

// Grant is what one pod holds: its claims in the order of Pod.Containers. The agent's checkpoint
// file stores grants, and Ledger.Restore restores them.
type Grant struct {
	UID    string         `json:"uid"`
	Policy podspec.Policy `json:"policy"`
	Claims []Claim        `json:"claims"`
}

// Claim returns the claim of the named container, or false if the pod has none with this name.
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
