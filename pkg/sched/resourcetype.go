package sched

import (
	"slices"
	"strings"
)

// Types of resources that do not name a model of GPU. Pod.ResourceType returns the first two.
const (
	TypeCPU        = "cpu"
	TypeAnyGPU     = "gpu"         // for a request, a GPU of any model; for a GPU in use, a GPU whose model is unknown
	TypeUnknownGPU = "unknown-gpu" // in the queue, the type of a pod that requests GPUs, or parts of GPUs, if no node has any of the requested types
)

// ResourceType returns the type of resource that a pod waits for. In the queue, pods of the same
// type compete with each other. The types are:
//
//	TypeCPU       no GPUs
//	"T4"          GPUs of one model
//	"A|B"         GPUs of several models, in alphabetical order
//	TypeAnyGPU    GPUs of any model
//	"T4-SHARED"   parts of GPUs of one model, or "A-SHARED|B-SHARED" for several models
//	"SHARED"      parts of one kind (GPUPartRequest.Kind) of GPUs of any model
func (p *Pod) ResourceType() string {
	part := p.GPUs.Part
	switch {
	case p.GPUs.Count == 0 && part.Count == 0:
		return TypeCPU
	case p.GPUs.Count == 0 && len(p.GPUs.Types) == 0:
		return part.Kind
	case len(p.GPUs.Types) == 0:
		return TypeAnyGPU
	}
	models := slices.Sorted(slices.Values(p.GPUs.Types))
	if p.GPUs.Count == 0 {
		for i := range models {
			models[i] += "-" + part.Kind
		}
	}
	return strings.Join(slices.Compact(models), "|")
}
