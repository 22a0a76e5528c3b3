package sched

import (
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// Placement is a pod's node, and the CPUs and GPUs that the pod gets on that node. The request that
// binds the pod also writes the placement to the API server.
type Placement struct {
	Node       string
	Containers []podspec.Container // a copy of Pod.Exclusive, in which the field PerNode of each container has the number of its CPUs on each NUMA node where it gets any
	GPUs       []GPUShare
	GPUGroup   string // the GPU group to which the GPUs belong; "" if no group offered them
}

// GPUShare is a part of one GPU, or all of it.
type GPUShare struct {
	ID    string
	Milli MilliGPU
}

// Holding is the resources that a pod takes from a node for as long as it is assigned to the node.
type Holding struct {
	Amounts
	NUMA []NUMAShare // NUMA nodes that the pod uses, sorted by ID
	GPUs []GPUShare
}

// NUMAShare is what a pod holds on one NUMA node: the maximum that its containers
// use there at the same time.
type NUMAShare struct {
	ID     topology.NodeID
	CPUs   int
	Memory Bytes // only memory of containers whose memory is bound to the NUMA node
}
