package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// PodContainer is a container of a pod's spec, and its kind.
//
// +kubebuilder:object:generate=false
type PodContainer struct {
	*corev1.Container
	Kind podspec.Kind
}

// InRunOrder returns the containers of a pod in the order in which they start. They are
// pointers into the pod's spec.
func InRunOrder(pod *corev1.Pod) []PodContainer {
	all := make([]PodContainer, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		kind := podspec.Init
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			kind = podspec.Sidecar
		}
		all = append(all, PodContainer{c, kind})
	}
	for i := range pod.Spec.Containers {
		all = append(all, PodContainer{&pod.Spec.Containers[i], podspec.App})
	}
	return all
}

// readPolicyForm reads the request of a pod with a policy. A container with an integer
// CPU limit is exclusive, unless the annotation shared-containers exempts it; one with a
// fractional limit is shared.
func readPolicyForm(pod *corev1.Pod, containers []PodContainer) (podspec.Policy, []podspec.Container, error) {
	policy, err := readPolicy(pod)
	if err != nil {
		return 0, nil, err
	}
	if err := checkIsolation(pod); err != nil {
		return 0, nil, err
	}
	bind, err := bindsMemory(pod, policy)
	if err != nil {
		return 0, nil, err
	}
	exempt, err := sharedContainers(pod)
	if err != nil {
		return 0, nil, err
	}
	if err := checkGuaranteed(pod, containers); err != nil {
		return 0, nil, err
	}
	var exclusive []podspec.Container
	for _, container := range containers {
		cpus, whole := wholeCPUs(container.Resources.Limits[corev1.ResourceCPU])
		if !whole || slices.Contains(exempt, container.Name) {
			continue
		}
		want := podspec.Container{Name: container.Name, Kind: container.Kind, CPUs: cpus}
		if bind {
			want.MemoryBytes = uint64(Amount(*container.Resources.Limits.Memory()))
		}
		exclusive = append(exclusive, want)
	}
	if len(exclusive) == 0 {
		return 0, nil, refuse(NoExclusiveContainer, "", "the pod asks for exclusive CPUs by %s: %s, but no container has an integer cpu limit (%s); set one to a whole number such as \"2\", or remove the annotation",
			AnnotationCPUPolicy, policy, limitsOf(containers, exempt))
	}
	return policy, exclusive, nil
}

// readExplicitForm reads the request of a pod with limits per NUMA node.
func readExplicitForm(pod *corev1.Pod, containers []PodContainer) ([]podspec.Container, error) {
	if err := checkNoPolicyOptions(pod); err != nil {
		return nil, err
	}
	var exclusive []podspec.Container
	for _, container := range containers {
		if !container.requestsExplicitly() {
			continue
		}
		want, err := container.readExplicit()
		if err != nil {
			return nil, err
		}
		exclusive = append(exclusive, want)
	}
	return exclusive, checkGuaranteed(pod, containers)
}

// readExplicit reads the NUMA limits of one container. Their sum must be its native CPU
// limit, so that the CPU accounting of Kubernetes is right.
func (c PodContainer) readExplicit() (podspec.Container, error) {
	want := podspec.Container{Name: c.Name, Kind: c.Kind, PerNode: map[topology.NodeID]int{}}
	for name, quantity := range c.Resources.Limits {
		if node, ok := ParseNUMAResource(string(name)); ok && quantity.Sign() > 0 {
			want.PerNode[node] = int(Amount(quantity))
			want.CPUs = min(want.CPUs+want.PerNode[node], MaxAmount)
		}
	}
	limit, ok := c.Resources.Limits[corev1.ResourceCPU]
	if cpus, whole := wholeCPUs(limit); !whole || cpus != want.CPUs {
		return want, refuse(CountMismatch, c.Name, "container %q asks for %d exclusive CPUs by NUMA node, but its cpu limit is %s; set its cpu limit and request to %q",
			c.Name, want.CPUs, orNone(limit, ok), fmt.Sprint(want.CPUs))
	}
	return want, nil
}

// requestsExplicitly reports whether the container has a limit for a NUMA node.
func (c PodContainer) requestsExplicitly() bool {
	for name, quantity := range c.Resources.Limits {
		if _, ok := ParseNUMAResource(string(name)); ok && quantity.Sign() > 0 {
			return true
		}
	}
	return false
}

// wholeCPUs returns a positive integer number of CPUs, by the kubelet's rule. MaxAmount, which
// stands for all larger numbers, counts as an integer, too: no node has that many CPUs.
// Source: guaranteedCPUs in k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/policy_static.go.
func wholeCPUs(quantity resource.Quantity) (int, bool) {
	n := Amount(quantity)
	return int(n), n == MaxAmount || n > 0 && quantity.Cmp(*resource.NewQuantity(n, resource.DecimalSI)) == 0
}

// limitsOf lists the CPU limits: "a: 1500m, b: 2 but exempted by …".
func limitsOf(containers []PodContainer, exempt []string) string {
	var list []string
	for _, container := range containers {
		item := fmt.Sprintf("%s: %s", container.Name, container.Resources.Limits.Cpu())
		if slices.Contains(exempt, container.Name) {
			item += " but exempted by " + AnnotationSharedContainers
		}
		list = append(list, item)
	}
	return strings.Join(list, ", ")
}

func orNone(quantity resource.Quantity, ok bool) string {
	if !ok {
		return "not set"
	}
	return quantity.String()
}
