package mirror

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// sharedKind is NVIDIA's suffix for a share of a GPU, which follows the GPU's model in
// labels of feature discovery.
const sharedKind = "SHARED"

// sharedSuffix is added to the name of the resource of whole GPUs. The result is the name of the
// resource of shares.
const sharedSuffix = ".shared"

// partKind returns the kind of GPU part that a resource counts, in the form of a GPU
// type's suffix: "SHARED" or "MIG-1g.10gb". It is "" for other resources. gpus is the
// resource of whole GPUs.
func partKind(resource, gpus string) string {
	domain, _, _ := strings.Cut(gpus, "/")
	if profile, slice := strings.CutPrefix(resource, domain+"/mig-"); slice {
		return "MIG-" + profile
	}
	if resource == gpus+sharedSuffix {
		return sharedKind
	}
	return ""
}

// partRequest returns which parts of GPUs are requested. Of several such resources it takes
// the first by name.
func partRequest(amounts sched.Amounts, gpus string) sched.GPUPartRequest {
	for resource, n := range amounts.Extended.All() {
		if kind := partKind(resource, gpus); kind != "" && n > 0 {
			return sched.GPUPartRequest{Resource: resource, Kind: kind, Count: int(n)}
		}
	}
	return sched.GPUPartRequest{}
}

// parts returns the type and size of the parts that each resource of a node counts. The
// size of a share is the number of GPUs divided by the number of shares. A slice counts
// as a whole GPU because it has a type of its own.
func parts(node *corev1.Node, topology *v1alpha1.NodeTopology, model, gpus string) map[string]sched.GPUPart {
	capacity := amounts(node.Status.Capacity).Extended
	all := map[string]sched.GPUPart{}
	for resource, n := range capacity.All() {
		switch kind := partKind(resource, gpus); kind {
		case "":
		case sharedKind:
			perGPU := max(1, n/max(1, capacity.Of(gpus)))
			size := max(1, sched.WholeGPU/sched.MilliGPU(perGPU)) // no share is free of charge
			all[resource] = sched.GPUPart{Type: typeOf(model, kind), Milli: size}
		default:
			all[resource] = sched.GPUPart{Type: typeOf(sliced(topology, kind), kind), Milli: sched.WholeGPU}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// typeOf returns the type of a part of a GPU. The model may be unknown, "".
func typeOf(model, kind string) string { return strings.TrimPrefix(model+"-"+kind, "-") }

// sliced returns the model of the GPUs that have slices of a kind, or "" if it is unknown.
func sliced(topology *v1alpha1.NodeTopology, kind string) string {
	if topology == nil {
		return ""
	}
	i := slices.IndexFunc(topology.Status.GPUs, func(g v1alpha1.GPU) bool {
		return g.Form == gpu.Virtual.String() && g.Type == typeOf(gpu.TypeName(g.Model), kind)
	})
	if i < 0 {
		return ""
	}
	return gpu.TypeName(topology.Status.GPUs[i].Model)
}
