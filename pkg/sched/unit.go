package sched

// Version is the number of a node's record. It increases with every change.
type Version uint64

// MilliCPU is an amount of native CPU in thousandths of a CPU.
type MilliCPU int64

// Bytes is an amount of memory.
type Bytes int64

// MilliGPU is an amount of one GPU in thousandths of it.
type MilliGPU int64

// WholeGPU is all of one GPU.
const WholeGPU MilliGPU = 1000
