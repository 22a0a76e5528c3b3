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

// PodContainer is a container of a pod's spec, and its kind: init container, sidecar or app
// container.
//
// +kubebuilder:object:generate=false
type PodContainer struct {
	*corev1.Container
	Kind podspec.Kind
}

// InRunOrder returns the containers of a pod in the order in which they start. Each result
// points to the container in the pod's spec, and is not a copy.
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

// readPolicyForm reads which containers of a pod with the annotation numalet.dev/cpu-policy
// request exclusive CPUs, and how many CPUs each of them requests. A container whose CPU limit
// is an integer gets exclusive CPUs, unless the annotation numalet.dev/shared-containers lists
// it. A container whose CPU limit is not an integer uses shared CPUs.
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

// readExplicitForm reads which containers of a pod request exclusive CPUs by limits per NUMA
// node, such as numalet.dev/numa1-cpu, and how many CPUs each of them requests.
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

// readExplicit reads the limits per NUMA node of one container. The sum of these limits must
// equal the container's cpu limit, so that Kubernetes accounts for the right number of CPUs.
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

// requestsExplicitly reports whether the container has a limit per NUMA node, such as
// numalet.dev/numa1-cpu, that is more than 0.
func (c PodContainer) requestsExplicitly() bool {
	for name, quantity := range c.Resources.Limits {
		if _, ok := ParseNUMAResource(string(name)); ok && quantity.Sign() > 0 {
			return true
		}
	}
	return false
}

// wholeCPUs returns a cpu limit as a number of CPUs, and reports whether the limit is a
// positive integer. The kubelet's static CPU manager uses the same rule to choose the
// containers that get exclusive CPUs. The function Amount rounds a limit up, so a limit is an
// integer if it equals the result of Amount. For a limit above MaxAmount (2⁵⁰), Amount returns
// MaxAmount. Such a limit counts as an integer even if it has a fraction, which does no harm,
// because no node has that many CPUs. Source: guaranteedCPUs in
// k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/policy_static.go.
func wholeCPUs(quantity resource.Quantity) (int, bool) {
	n := Amount(quantity)
	return int(n), n == MaxAmount || n > 0 && quantity.Cmp(*resource.NewQuantity(n, resource.DecimalSI)) == 0
}

// limitsOf lists the CPU limits of the containers for an error message, such as "a: 1500m, b: 2 but
// exempted by …". The containers named in the parameter exempt get no exclusive CPUs, because the
// pod's annotation shared-containers lists them.
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
