package sched

// Version is the number of a node's record. It increases with every change of the node.
type Version uint64

// MilliCPU is an amount of the Kubernetes resource cpu, in thousandths of a CPU.
type MilliCPU int64

// Bytes is an amount of memory.
type Bytes int64

// MilliGPU is a part of one GPU, in thousandths of the GPU.
type MilliGPU int64

// WholeGPU is all of one GPU.
const WholeGPU MilliGPU = 1000
