package v1alpha1

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/numalet/numalet/pkg/podspec"
)

// readPolicy returns the policy in the annotation numalet.dev/cpu-policy. If the
// annotation is empty, the policy is podspec.Random.
func readPolicy(pod *corev1.Pod) (podspec.Policy, error) {
	text := pod.Annotations[AnnotationCPUPolicy]
	if text == "" {
		return podspec.Random, nil
	}
	policy, err := podspec.ParsePolicy(text)
	if err != nil {
		return 0, refuse(UnknownPolicy, "", "the annotation %s is %q; allowed are %s, %s and %s",
			AnnotationCPUPolicy, text, PolicySpread, PolicySingle, PolicyRandom)
	}
	return policy, nil
}

// checkIsolation refuses unknown values of the annotation numalet.dev/isolation.
func checkIsolation(pod *corev1.Pod) error {
	if text, ok := pod.Annotations[AnnotationIsolation]; ok && text != IsolationFull && text != IsolationLoadBalanced {
		return refuse(UnknownIsolation, "", "the annotation %s is %q; allowed are %s and %s", AnnotationIsolation, text, IsolationFull, IsolationLoadBalanced)
	}
	return nil
}

// bindsMemory reports whether the memory of the containers with exclusive CPUs is bound
// to the NUMA node of their CPUs. If the pod has no annotation
// numalet.dev/memory-policy, the memory is bound only if the CPU policy is "single".
func bindsMemory(pod *corev1.Pod, policy podspec.Policy) (bool, error) {
	memory, ok := pod.Annotations[AnnotationMemoryPolicy]
	switch {
	case !ok:
		return policy == podspec.Single, nil
	case memory == MemoryAny:
		return false, nil
	case memory == MemoryLocal && policy == podspec.Single:
		return true, nil
	case memory == MemoryLocal:
		return false, refuse(UnknownMemoryPolicy, "", "the annotation %s is %s, which only %s: %s can keep (this pod's is %s); set it to %s or change the policy",
			AnnotationMemoryPolicy, MemoryLocal, AnnotationCPUPolicy, PolicySingle, policy, MemoryAny)
	}
	return false, refuse(UnknownMemoryPolicy, "", "the annotation %s is %q; allowed are %s and %s",
		AnnotationMemoryPolicy, memory, MemoryLocal, MemoryAny)
}

// sharedContainers returns the names in the annotation numalet.dev/shared-containers. It
// refuses a name that no container of the pod has, because the author of the pod has
// probably misspelt the name of a container. Without this check, that container would
// get exclusive CPUs.
func sharedContainers(pod *corev1.Pod) ([]string, error) {
	known := containerNames(pod)
	var exempt []string
	for name := range strings.SplitSeq(pod.Annotations[AnnotationSharedContainers], ",") {
		name = strings.TrimSpace(name)
		if name == "" || slices.Contains(exempt, name) {
			continue
		}
		if !slices.Contains(known, name) {
			return nil, refuse(UnknownContainer, name, "the annotation %s names %q, but the pod's containers are %s; correct the name",
				AnnotationSharedContainers, name, strings.Join(known, ", "))
		}
		exempt = append(exempt, name)
	}
	return exempt, nil
}

func containerNames(pod *corev1.Pod) []string {
	var names []string
	for _, c := range InRunOrder(pod) {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		names = append(names, c.Name)
	}
	return names
}

// checkGuaranteed refuses pods with pod-level resources (spec.resources), and pods that
// are not of the QoS class Guaranteed. For the class, it uses the kubelet's rule: each
// container, including init containers, must have CPU and memory limits, and requests
// that equal the limits.
// Source: k8s.io/kubernetes/pkg/apis/core/v1/helper/qos.
func checkGuaranteed(pod *corev1.Pod, containers []PodContainer) error {
	if r := pod.Spec.Resources; r != nil && len(r.Limits)+len(r.Requests) > 0 {
		return refuse(PodLevelResources, "", "the pod asks for exclusive CPUs and has pod-level resources (spec.resources), which are not served together; give each container its own limits")
	}
	for _, container := range containers {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if err := container.checkEqual(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkEqual refuses a container if it has no limit for the resource, or if its request differs
// from the limit. A missing request counts as equal to the limit, because the API server sets it to
// the limit.
func (c PodContainer) checkEqual(name corev1.ResourceName) error {
	limit, ok := c.Resources.Limits[name]
	if !ok || limit.Sign() <= 0 {
		return refuse(NotGuaranteed, c.Name, "exclusive CPUs need a pod of class Guaranteed, but container %q has no %s limit; give every container cpu and memory limits equal to its requests",
			c.Name, name)
	}
	request, ok := c.Resources.Requests[name]
	if ok && request.Cmp(limit) != 0 {
		return refuse(NotGuaranteed, c.Name, "exclusive CPUs need a pod of class Guaranteed, but container %q requests %s %s with a limit of %s; make the request equal to the limit",
			c.Name, name, &request, &limit)
	}
	return nil
}
