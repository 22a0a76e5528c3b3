// Package gpu models a node's GPUs: whole GPUs and MIG slices, the links between GPUs,
// and which of the free GPUs are connected best.
//
// It works on the inventory that an adapter has read from the driver, and does not
// access a driver itself. Missing facts stay unknown: a GPU whose NUMA node is
// unknown is never treated as aligned.
//
//	GPUs, ok := inventory.Choose(free, gpu.Wish{Count: 2})
//	GPUs, node, err := inventory.ChooseAligned(free, 2, fits) // all on one NUMA node
//
// inventory.go, GPU.go, kind.go and link.go are the types; choose.go and align.go
// the API of the choice; score.go compares two sets of GPUs, search.go finds the
// best one.
package gpu
