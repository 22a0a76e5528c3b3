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

// PodContainer is a container of a pod's spec with its role.
//
// +kubebuilder:object:generate=false
type PodContainer struct {
	*corev1.Container
	Kind podspec.Kind
}

// InRunOrder returns the containers of a pod in the order in which they start. They
// are the pod's own, not copies.
func InRunOrder(pod *corev1.Pod) []PodContainer {
	var all []PodContainer
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

// readPolicyForm reads a pod with a policy: an integer cpu limit is exclusive,
// a fractional one shared, and shared-containers exempts integers.
func readPolicyForm(pod *corev1.Pod, containers []PodContainer) (podspec.Policy, []podspec.Container, error) {
	policy, err := readPolicy(pod)
	if err != nil {
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
	for _, c := range containers {
		cpus, whole := wholeCPUs(c.Resources.Limits[corev1.ResourceCPU])
		if !whole || slices.Contains(exempt, c.Name) {
			continue
		}
		want := podspec.Container{Name: c.Name, Kind: c.Kind, CPUs: cpus}
		if bind {
			want.MemoryBytes = uint64(c.Resources.Limits.Memory().Value())
		}
		exclusive = append(exclusive, want)
	}
	if len(exclusive) == 0 {
		return 0, nil, refuse(NoExclusiveContainer, "", "the pod asks for exclusive CPUs by %s: %s, but no container has an integer cpu limit (%s); set one to a whole number such as \"2\", or remove the annotation",
			AnnotationCPUPolicy, policy, limitsOf(containers, exempt))
	}
	return policy, exclusive, nil
}

// readExplicitForm reads a pod whose limits name NUMA nodes.
func readExplicitForm(pod *corev1.Pod, containers []PodContainer) ([]podspec.Container, error) {
	if err := checkNoStray(pod); err != nil {
		return nil, err
	}
	var exclusive []podspec.Container
	for _, c := range containers {
		if !c.asksExplicitly() {
			continue
		}
		want, err := c.readExplicit()
		if err != nil {
			return nil, err
		}
		exclusive = append(exclusive, want)
	}
	return exclusive, checkGuaranteed(pod, containers)
}

// readExplicit reads the NUMA limits of one container, which must add up to
// its native cpu limit, so that the stock CPU accounting stays true.
func (c PodContainer) readExplicit() (podspec.Container, error) {
	want := podspec.Container{Name: c.Name, Kind: c.Kind, PerNode: map[topology.NodeID]int{}}
	for name, quantity := range c.Resources.Limits {
		if node, ok := ParseNUMAResource(string(name)); ok && quantity.Sign() > 0 {
			want.PerNode[node] = int(quantity.Value())
			want.CPUs += int(quantity.Value())
		}
	}
	limit, ok := c.Resources.Limits[corev1.ResourceCPU]
	if cpus, whole := wholeCPUs(limit); !whole || cpus != want.CPUs {
		return want, refuse(CountMismatch, c.Name, "container %q asks for %d exclusive CPUs by NUMA node, but its cpu limit is %s; set its cpu limit and request to %q",
			c.Name, want.CPUs, orNone(limit, ok), fmt.Sprint(want.CPUs))
	}
	return want, nil
}

// asksExplicitly reports whether a limit names a NUMA node.
func (c PodContainer) asksExplicitly() bool {
	for name, quantity := range c.Resources.Limits {
		if _, ok := ParseNUMAResource(string(name)); ok && quantity.Sign() > 0 {
			return true
		}
	}
	return false
}

// wholeCPUs returns a positive integer count of CPUs, by the kubelet's rule
// (pkg/kubelet/cm/cpumanager/policy_static.go, guaranteedCPUs).
func wholeCPUs(q resource.Quantity) (int, bool) {
	n := q.Value()
	return int(n), n > 0 && n*1000 == q.MilliValue()
}

// limitsOf lists the cpu limits, "a: 1500m, b: 2 but exempted".
func limitsOf(containers []PodContainer, exempt []string) string {
	var list []string
	for _, c := range containers {
		item := fmt.Sprintf("%s: %s", c.Name, c.Resources.Limits.Cpu())
		if slices.Contains(exempt, c.Name) {
			item += " but exempted by " + AnnotationSharedContainers
		}
		list = append(list, item)
	}
	return strings.Join(list, ", ")
}

func orNone(q resource.Quantity, ok bool) string {
	if !ok {
		return "not set"
	}
	return q.String()
}
