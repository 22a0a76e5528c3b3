package mirror

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// sharedKind is the suffix that NVIDIA's GPU feature discovery adds to the model of a GPU in
// labels, if the GPU is shared.
const sharedKind = "SHARED"

// sharedSuffix is the end of the name of the resource that counts GPU shares. The beginning is the
// name of the resource that counts whole GPUs.
const sharedSuffix = ".shared"

// partKind returns the kind of GPU parts that a resource counts: "SHARED" for shares, or for
// example "MIG-1g.10gb" for MIG slices. The kind is also the suffix of the GPU type of these parts.
// partKind returns "" if the resource does not count parts of GPUs. The parameter `gpus` is the name
// of the resource that counts whole GPUs.
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

// resourceOf returns the name of the resource that counts a device of a node, if the device is a GPU
// share or a MIG slice. It returns "" for other devices, and if the node has no such resource. The
// parameter `parts` is what the function parts returns for the node, and `gpus` is the name of the
// resource that counts whole GPUs.
func resourceOf(device string, topology *v1alpha1.NodeTopology, parts map[string]sched.GPUPart, gpus string) string {
	share := v1alpha1.GPUOf(device) != device
	i := slices.IndexFunc(topology.Status.GPUs, func(g v1alpha1.GPU) bool { return g.ID == device })
	for resource := range parts {
		kind := partKind(resource, gpus)
		if share && kind == sharedKind || i >= 0 && isSlice(topology.Status.GPUs[i], kind) {
			return resource
		}
	}
	return ""
}

// partRequest returns the parts of GPUs that are among the requested amounts. If several of the
// requested resources count parts of GPUs, partRequest returns the first of them by name.
func partRequest(amounts sched.Amounts, gpus string) sched.GPUPartRequest {
	for resource, n := range amounts.Extended.All() {
		if kind := partKind(resource, gpus); kind != "" && n > 0 {
			return sched.GPUPartRequest{Resource: resource, Kind: kind, Count: int(n)}
		}
	}
	return sched.GPUPartRequest{}
}

// parts returns the type and the size of a node's GPU parts, by the name of the resource that
// counts these parts. The size of a share is one GPU divided by the number of shares into which
// each GPU of the node is divided. A MIG slice counts as much as a whole GPU, because slices have
// their own GPU type, and so their own quotas.
func parts(node *corev1.Node, topology *v1alpha1.NodeTopology, model, gpus string) map[string]sched.GPUPart {
	capacity := amounts(node.Status.Capacity).Extended
	all := map[string]sched.GPUPart{}
	for resource, n := range capacity.All() {
		switch kind := partKind(resource, gpus); kind {
		case "":
		case sharedKind:
			perGPU := max(1, n/max(1, capacity.Of(gpus)))
			size := max(1, sched.WholeGPU/sched.MilliGPU(perGPU)) // at least 1, so that a quota counts every share
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

// typeOf returns the type of a part of a GPU: the model of the GPU and the kind of the part, such
// as "SHARED". An empty model means that the model is not known.
func typeOf(model, kind string) string { return strings.TrimPrefix(model+"-"+kind, "-") }

// sliced returns the model of the node's GPUs that have MIG slices of a kind, or "" if the model is
// not known.
func sliced(topology *v1alpha1.NodeTopology, kind string) string {
	if topology == nil {
		return ""
	}
	i := slices.IndexFunc(topology.Status.GPUs, func(g v1alpha1.GPU) bool { return isSlice(g, kind) })
	if i < 0 {
		return ""
	}
	return gpu.TypeName(topology.Status.GPUs[i].Model)
}

// isSlice reports whether a GPU of a NodeTopology is a MIG slice of a kind, such as "MIG-1g.10gb".
func isSlice(g v1alpha1.GPU, kind string) bool {
	return g.Form == gpu.Virtual.String() && g.Type == typeOf(gpu.TypeName(g.Model), kind)
}
