package sched

import (
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/topology"
)

// Placement is how a pod falls on a node: the decision that is bound with it.
type Placement struct {
	Node       string
	Containers []ContainerCPUs // of Pod.Exclusive, in its order
	GPUs       []GPUShare
	GPUGroup   string // that GPUs were given from, or ""
}

// ContainerCPUs is how many exclusive CPUs a container gets on each NUMA node;
// those that give none are left out.
type ContainerCPUs struct {
	Container string
	PerNode   map[topology.NodeID]int
}

// GPUShare is a part of one card, or all of it.
type GPUShare struct {
	ID    string
	Milli MilliGPU
}

// Holding is what a pod takes from a node for its whole life there.
type Holding struct {
	Amounts
	NUMA []NUMAShare // those with something on them, by ID
	GPUs []GPUShare
}

// NUMAShare is what a pod holds on one NUMA node: the most that its containers
// have there at one time.
type NUMAShare struct {
	ID     topology.NodeID
	CPUs   int
	Memory Bytes // of the containers whose memory is bound there
}

// Peak returns the most that a pod's containers, in the order in which they
// run, weigh at one time:
//
//	max( initᵢ + Σ sidecars before i,  Σ apps + Σ sidecars )
//
// https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
func Peak(containers []pool.Want, weight func(i int) int64) int64 {
	var sidecars, inits, apps int64
	for i, c := range containers {
		switch c.Kind {
		case pool.Init:
			inits = max(inits, sidecars+weight(i))
		case pool.Sidecar:
			sidecars += weight(i)
		case pool.App:
			apps += weight(i)
		}
	}
	return max(inits, sidecars+apps)
}
