package node

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// ofStatic returns what a container of a static pod without a mirror pod gets. The kubelet runs
// static pods without the API server, so the agent does not know the pod's spec. ofStatic reads the
// number of CPUs from the container's cgroup limits and device tokens. A token is a device of
// numalet-deviceplugin that stands for one CPU of a NUMA node. The container does not reuse CPUs of
// the pod's other containers. Only the CPUs of init containers can be reused, and the agent does
// not know which containers of the pod are init containers.
func (s subject) ofStatic() class {
	if exempted(s.Container) {
		return class{kind: sharedCPUs}
	}
	pod := staticPod(s.Container)
	request, err := v1alpha1.ReadCPURequest(pod)
	switch r := (*v1alpha1.Refusal)(nil); {
	case errors.As(err, &r) && r.Reason == v1alpha1.NoExclusiveContainer:
		return class{kind: sharedCPUs} // this is no error, because another container of the pod may request exclusive CPUs
	case err != nil:
		return s.refused(err)
	}
	got := s.ofRequest(pod, request)
	if got.request != nil {
		only := onlyContainer(*got.request, s.Name)
		got.kind, got.request = byCgroup, &only
	}
	return got
}

// exempted reports whether the annotation numalet.dev/shared-containers of the pod lists the
// container. Containers in this list stay on the shared CPUs.
func exempted(c workload.Container) bool {
	names := strings.Split(c.Sandbox.Annotations[v1alpha1.AnnotationSharedContainers], ",")
	return slices.ContainsFunc(names, func(name string) bool { return strings.TrimSpace(name) == c.Name })
}

// staticPod returns a pod that has only the container c. It derives the resources of c from the
// cgroup limits and the device tokens of c.
func staticPod(c workload.Container) *corev1.Pod {
	var pod corev1.Pod
	pod = *withSandboxAnnotations(&pod, c.Sandbox)
	delete(pod.Annotations, v1alpha1.AnnotationSharedContainers)
	r := c.Resources
	limits := corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(max(r.MemoryBytes, 0), resource.BinarySI)}
	requests := corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(int64(r.Shares)*1000/1024, resource.DecimalSI)}
	if r.QuotaMicros > 0 && r.PeriodMicros > 0 {
		limits[corev1.ResourceCPU] = *resource.NewMilliQuantity(r.QuotaMicros*1000/int64(r.PeriodMicros), resource.DecimalSI)
	}
	if _, whole := r.WholeCPUs(); whole {
		requests = nil
	}
	for node, count := range v1alpha1.ParseAllocated(c.Annotations) {
		limits[corev1.ResourceName(v1alpha1.NUMAResource(node))] = *resource.NewQuantity(int64(count), resource.DecimalSI)
	}
	pod.Spec.Containers = []corev1.Container{{
		Name:      c.Name,
		Resources: corev1.ResourceRequirements{Limits: limits, Requests: requests},
	}}
	return &pod
}
