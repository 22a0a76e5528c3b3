package sched

import (
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// Placement is a pod's node and its CPUs and GPUs there. It is bound with the pod.
type Placement struct {
	Node       string
	Containers []podspec.Container // Pod.Exclusive, each with its PerNode; NUMA nodes without CPUs for it are left out
	GPUs       []GPUShare
	GPUGroup   string // the GPU group that GPUs are taken from, or ""
}

// GPUShare is a part of one GPU, or all of it.
type GPUShare struct {
	ID    string
	Milli MilliGPU
}

// Holding is what a pod takes from a node for its whole life there.
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
	Memory Bytes // of the containers whose memory is bound there
}
