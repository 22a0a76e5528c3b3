package mirror

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/sched"
)

// labelProduct is the label in which NVIDIA's feature discovery writes the model of a
// node's GPUs.
// Source: https://github.com/NVIDIA/k8s-device-plugin/tree/main/docs/gpu-feature-discovery.
const labelProduct = "nvidia.com/gpu.product"

// model returns the model of a node's whole GPUs as its agent reports it, or else as its
// label says. It is empty if it is unknown or if the node has several models, between
// which a pod could not choose.
func model(node *corev1.Node, topology *v1alpha1.NodeTopology) string {
	models := map[string]bool{}
	for _, device := range whole(topology) {
		models[cmp.Or(device.Type, gpu.TypeName(device.Model))] = true
	}
	switch len(models) {
	case 0:
		return gpu.TypeName(node.Labels[labelProduct])
	case 1:
		return slices.Collect(maps.Keys(models))[0]
	}
	return ""
}

// modelOf returns the model of a record's first GPU, or "".
func modelOf(node *sched.Node) string {
	if node == nil || len(node.GPUs) == 0 {
		return ""
	}
	return node.GPUs[0].Type
}

// gpuRequest returns which GPUs, or parts of GPUs, a pod requests. The number comes from its
// requests, the models from its annotation.
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

// known returns the models of a request for whole GPUs without those that the cluster does not
// have. If the cluster has none of them, it returns all, and the pod waits for such a GPU.
func (m *Mirror) known(request sched.GPURequest) []string {
	known := slices.DeleteFunc(slices.Clone(request.Types), func(name string) bool { return m.mu.models[name] <= 0 })
	if request.Count == 0 || len(known) == 0 {
		return request.Types
	}
	return known
}

// maxModels is how many models of GPUs a pod may name: each of its GPUs is compared with
// all of them.
const maxModels = 64

// allowed reads the annotations that restrict the GPUs of a pod that requests n GPUs of
// a form. Nil means no restriction.
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

// recount updates the number of nodes of each model after a node changed; nil is no node.
// If the node's model differs, it queues pods that name several models again.
func (m *Mirror) recount(before, now *sched.Node) {
	lost, got := modelOf(before), modelOf(now)
	if lost == got {
		return
	}
	m.mu.models[lost]--
	m.mu.models[got]++
	for _, uid := range slices.Sorted(maps.Keys(m.mu.requests)) {
		if pod := m.mu.requests[uid]; strings.Contains(pod.Annotations[v1alpha1.AnnotationGPUType], "|") {
			m.enqueue(pod)
		}
	}
}
