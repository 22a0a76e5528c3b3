package sched

// Version is the number of a node's record. Each new record of the node has a higher
// number.
type Version uint64

// MilliCPU is an amount of the Kubernetes resource cpu, in thousandths of a CPU.
type MilliCPU int64

// Bytes is an amount of memory.
type Bytes int64

// MilliGPU is an amount of GPU capacity, in thousandths of a GPU.
type MilliGPU int64

// WholeGPU is all of one GPU.
const WholeGPU MilliGPU = 1000
