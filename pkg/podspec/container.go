package podspec

import "github.com/numalet/numalet/pkg/topology"

// Container is the request of one container with exclusive CPUs.
type Container struct {
	Name string
	Kind Kind
	CPUs int // > 0
	// PerNode has the number of CPUs on each NUMA node. In a request, it is set only if the pod
	// names the numbers itself; nil means that the pod's policy decides. In a placement, it is
	// always set. The values add up to CPUs.
	PerNode map[topology.NodeID]int
	// MemoryBytes is the amount of memory that is bound to the NUMA node of the CPUs. Only memory
	// of pods with the policy Single is bound. 0 means that memory is not bound.
	MemoryBytes uint64
}

// Peak returns the most that the containers of a pod use at the same time. The function given as
// `weight` returns what the i-th container uses, for example a number of CPUs. The containers must
// be in the order in which they start. The formula is that of a pod's effective request in
// Kubernetes:
//
//	max( initᵢ + Σ sidecars before i,  Σ apps + Σ sidecars )
//
// https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
func Peak(containers []Container, weight func(i int) int64) int64 {
	var sidecars, inits, apps int64
	for i, container := range containers {
		switch container.Kind {
		case Init:
			inits = max(inits, sidecars+weight(i))
		case Sidecar:
			sidecars += weight(i)
		case App:
			apps += weight(i)
		}
	}
	return max(inits, sidecars+apps)
}
