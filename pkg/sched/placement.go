package sched

import (
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
