// Package gpu models a node's GPUs: whole GPUs and MIG slices, the links between GPUs,
// and which of the free GPUs are connected best.
//
// The package works on an inventory that another package, such as internal/gpu/nvml, has
// read from the driver. It does not access a driver itself. Facts that the driver does
// not report stay unknown. For example, a GPU whose NUMA node is unknown never counts
// as being on the NUMA node of a container's CPUs.
//
//	GPUs, ok := inventory.Choose(free, gpu.Wish{Count: 2})
//	GPUs, node, err := inventory.ChooseAligned(free, 2, fits) // all on one NUMA node
//
// inventory.go, gpu.go, kind.go and link.go have the types. choose.go and align.go have
// the functions that choose GPUs. score.go compares two sets of GPUs, and search.go
// finds the best set.
package gpu
