package mirror

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// labelProduct is the label in which NVIDIA's GPU feature discovery writes the model of a node's
// GPUs.
// Source: https://github.com/NVIDIA/k8s-device-plugin/tree/main/docs/gpu-feature-discovery.
const labelProduct = "nvidia.com/gpu.product"

// modelsOf returns the known models of the whole GPUs in a node's record, sorted and without
// duplicates.
func modelsOf(node *sched.Node) (models []string) {
	if node == nil {
		return nil
	}
	for _, device := range node.GPUs {
		if device.Type != "" {
			models = append(models, device.Type)
		}
	}
	slices.Sort(models)
	return slices.Compact(models)
}

// single returns the only element of models, or "" if there is not exactly one.
func single(models []string) string {
	if len(models) != 1 {
		return ""
	}
	return models[0]
}

// gpuRequest returns the whole GPUs or parts of GPUs that a pod requests. The number of GPUs comes
// from the pod's resource requests, and the models of GPUs from an annotation. The parameter `gpus`
// is the name of the resource that counts whole GPUs.
func gpuRequest(pod *corev1.Pod, requests sched.Amounts, gpus string) (sched.GPURequest, error) {
	request := sched.GPURequest{Count: int(requests.Extended.Of(gpus)), Milli: sched.WholeGPU, Part: partRequest(requests, gpus)}
	form := gpu.Physical
	if request.Count == 0 {
		form = gpu.Virtual
	}
	var err error
	request.Types, err = allowed(pod, form, request.Count+request.Part.Count, gpus)
	switch {
	case err != nil || request.Count+request.Part.Count == 0:
		return sched.GPURequest{}, err
	case request.Count > MaxGPUs:
		return sched.GPURequest{}, fmt.Errorf("the pod requests %d of %s, and a node may have at most %d; request less", request.Count, gpus, MaxGPUs)
	case request.Count == 0:
		return sched.GPURequest{Part: request.Part, Types: request.Types}, nil
	}
	request.PerContainer = wants(pod, gpus)
	return request, nil
}

// known returns the GPU models that a request for whole GPUs names, but leaves out the models that
// no node has. If no node has any of the named models, it returns all of them, so that the pod
// waits for a node with such a GPU. For other requests, it returns all named models.
func (m *Mirror) known(request sched.GPURequest) []string {
	known := m.existing(request.Types)
	if request.Count == 0 || len(known) == 0 {
		return request.Types
	}
	return known
}

// queueType returns the type of resource under which the queue orders a pod. It is the type of
// resource that the pod requests. If the pod accepts several GPU types, queueType leaves out those
// that no node has. If no node has any of the requested GPU types, queueType returns
// sched.TypeUnknownGPU. If it returned the requested names instead, authors of pods could invent
// names of GPUs, and so create any number of types. Many types would make the queue slow, because
// it compares each type with all other types to find those that overlap.
func (m *Mirror) queueType(p *sched.Pod) fairshare.Type {
	requested := p.ResourceType()
	if requested == sched.TypeCPU || requested == sched.TypeAnyGPU {
		return fairshare.Type(requested)
	}
	known := m.existing(strings.Split(requested, "|"))
	if len(known) == 0 {
		return sched.TypeUnknownGPU
	}
	return fairshare.Type(strings.Join(known, "|"))
}

// existing returns those of the given GPU types that at least one node has.
func (m *Mirror) existing(types []string) []string {
	return slices.DeleteFunc(slices.Clone(types), func(name string) bool { return m.mu.types[name] <= 0 })
}

// maxModels is how many models of GPUs a pod may name. The limit keeps scheduling fast, because
// each GPU of a node is compared with all models that a pod names.
const maxModels = 64

// allowed returns the models of GPUs to which the annotations of a pod restrict the pod, or nil for
// any model. The error says what is wrong with the annotations. The parameter `n` is the number of
// GPUs or parts of GPUs that the pod requests. The parameter `asked` is their form: gpu.Physical
// for whole GPUs, gpu.Virtual for parts. The parameter `resource` is the name of the resource that
// counts whole GPUs.
func allowed(pod *corev1.Pod, asked gpu.Form, n int, resource string) ([]string, error) {
	list, typed := pod.Annotations[v1alpha1.AnnotationGPUType]
	form, formed := pod.Annotations[v1alpha1.AnnotationGPUForm]
	switch {
	case (typed || formed) && n == 0:
		return nil, fmt.Errorf("the pod says which GPUs suit it (%s, %s) and asks for none; give a container a limit of %s, or remove the annotation",
			v1alpha1.AnnotationGPUType, v1alpha1.AnnotationGPUForm, resource)
	case formed && form != asked.String() && asked == gpu.Physical:
		return nil, fmt.Errorf("the annotation %s is %q, and the pod asks for %s, which are whole GPUs; allowed is %s",
			v1alpha1.AnnotationGPUForm, form, resource, gpu.Physical)
	case formed && form != asked.String():
		return nil, fmt.Errorf("the annotation %s is %q, and the pod asks for parts of GPUs; allowed is %s", v1alpha1.AnnotationGPUForm, form, gpu.Virtual)
	case !typed:
		return nil, nil
	}
	if n := 1 + strings.Count(list, "|"); n > maxModels {
		return nil, fmt.Errorf("the annotation %s lists %d models of GPUs, and at most %d are read; name fewer, or none for any", v1alpha1.AnnotationGPUType, n, maxModels)
	}
	var models []string
	for name := range strings.SplitSeq(list, "|") {
		if name = gpu.TypeName(name); name == "" {
			return nil, fmt.Errorf("the annotation %s is %q; want the name of a model of GPU, or several with | between them, such as Tesla-T4|NVIDIA-H200",
				v1alpha1.AnnotationGPUType, list)
		}
		models = append(models, name)
	}
	return models, nil
}

// recount updates m.mu.types after the record of a node has changed from `before` to `now`. A nil
// record means that the node does not exist. If a type of GPU is new in the cluster or has gone,
// recount queues again the pending pods that name this type, because the results of the methods
// `known` and `queueType` change.
func (m *Mirror) recount(before, now *sched.Node) {
	lost, got := m.typesOf(before), m.typesOf(now)
	if slices.Equal(lost, got) {
		return
	}
	had := map[string]bool{}
	for _, name := range slices.Concat(lost, got) {
		had[name] = m.mu.types[name] > 0
	}
	for _, name := range lost {
		m.mu.types[name]--
	}
	for _, name := range got {
		m.mu.types[name]++
	}
	maps.DeleteFunc(had, func(name string, had bool) bool { return had == (m.mu.types[name] > 0) })
	if len(had) == 0 {
		return
	}
	for _, uid := range slices.Sorted(maps.Keys(m.mu.requests)) {
		pod := m.mu.requests[uid]
		for name := range strings.SplitSeq(pod.request.ResourceType(), "|") {
			if _, changed := had[name]; changed {
				m.enqueue(pod)
				break
			}
		}
	}
}

// typesOf returns the types of the GPUs and parts of GPUs in a node's record, in the form of
// sched.Pod.ResourceType. They are sorted and without duplicates.
func (m *Mirror) typesOf(node *sched.Node) []string {
	types := modelsOf(node)
	if node == nil {
		return types
	}
	for resource, part := range node.Parts {
		types = append(types, part.Type, partKind(resource, m.env.GPUs))
	}
	slices.Sort(types)
	return slices.Compact(types)
}
