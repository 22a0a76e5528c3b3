package node

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// pod runs the command `pod NAME ARGUMENT…` of the test scripts (testdata/*.txt), which creates a pod
// whose UID is its name. Each argument is one of these:
//
//   - CONTAINER:LIMIT[/REQUEST][@NODE=N,…] adds a container with this limit and request of CPUs. The
//     default of REQUEST is LIMIT. NODE=N adds a limit of N CPUs of a NUMA node. CONTAINER may be
//     init.NAME or sidecar.NAME.
//   - policy=P sets the annotation of the CPU policy.
//   - place=CONTAINER@NODE=N,…[/GPU,…][;…] sets the placement annotation (see placementOf).
//   - owner=KIND/NAME sets the pod's controller.
//   - ANNOTATION=VALUE sets the annotation numalet.dev/ANNOTATION.
//   - burstable makes the kubelet put the pod into the cgroup of the QoS class Burstable. The QoS
//     class of all other pods is Guaranteed.
//   - static makes the pod a static pod.
//   - never sets the restartPolicy Never.
func (s *script) pod(args []string) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: args[0], UID: types.UID(args[0]), Annotations: map[string]string{}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, arg := range args[1:] {
		container, limits, isContainer := strings.Cut(arg, ":")
		name, value, isAnnotation := strings.Cut(arg, "=")
		isContainer = isContainer && !strings.Contains(container, "=")
		switch {
		case name == "place":
			pod.Annotations[v1alpha1.AnnotationPlacement] = placementOf(value)
		case name == "owner":
			kind, of, _ := strings.Cut(value, "/")
			yes := true
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: of, Controller: &yes}}
		case arg == "never":
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		case arg == "burstable":
			pod.Status.QOSClass = corev1.PodQOSBurstable
		case arg == "static":
			pod.Annotations[annotationSource] = "file"
		case isContainer:
			addContainer(pod, container, limits)
		case isAnnotation && name == "policy":
			pod.Annotations[v1alpha1.AnnotationCPUPolicy] = value
		case isAnnotation:
			pod.Annotations[v1alpha1.Group+"/"+name] = value
		}
	}
	s.pods[args[0]] = pod
	return nil
}

// placementOf returns the placement annotation for a short form such as main@0=2,1=2/a,b;side@0=1.
// In this example, the container main gets two CPUs of each of the NUMA nodes 0 and 1, and the GPUs
// a and b.
func placementOf(text string) string {
	containers := map[string]v1alpha1.ContainerPlacement{}
	for item := range strings.SplitSeq(text, ";") {
		name, what, _ := strings.Cut(item, "@")
		counts, gpus, _ := strings.Cut(what, "/")
		c := v1alpha1.ContainerPlacement{CPUs: countsOf(counts)}
		if gpus != "" {
			c.GPUs = strings.Split(gpus, ",")
		}
		containers[name] = c
	}
	value, err := v1alpha1.FormatPlacement(containers)
	if err != nil {
		panic(err)
	}
	return value
}

// countsOf parses numbers of CPUs by NUMA node, such as 0=2,1=2.
func countsOf(text string) map[topology.NodeID]int {
	counts := map[topology.NodeID]int{}
	for item := range strings.SplitSeq(text, ",") {
		if node, count, ok := strings.Cut(item, "="); ok {
			id, _ := strconv.Atoi(node)
			counts[topology.NodeID(id)], _ = strconv.Atoi(count)
		}
	}
	return counts
}

func addContainer(pod *corev1.Pod, name, text string) {
	always := corev1.ContainerRestartPolicyAlways
	text, perNode, _ := strings.Cut(text, "@")
	limit, request, _ := strings.Cut(text, "/")
	if request == "" {
		request = limit
	}
	list := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("64Mi")}
	}
	c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Limits: list(limit), Requests: list(request)}}
	for id, count := range countsOf(perNode) {
		c.Resources.Limits[corev1.ResourceName(v1alpha1.NUMAResource(id))] = *resource.NewQuantity(int64(count), resource.DecimalSI)
	}
	switch kind, rest, ok := strings.Cut(name, "."); {
	case ok && kind == "sidecar":
		c.Name, c.RestartPolicy = rest, &always
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	case ok:
		c.Name = rest
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	default:
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
}

// containerOf returns a container of the pod as the container runtime describes it to the agent. It
// has the cgroup limits that the kubelet sets, and the annotations that the device plugin adds.
func containerOf(pod *corev1.Pod, name string, s workload.Sandbox) workload.Container {
	c := workload.Container{Name: name, Sandbox: s, Annotations: map[string]string{}}
	for _, spec := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		if spec.Name != name {
			continue
		}
		limit, request := spec.Resources.Limits.Cpu().MilliValue(), spec.Resources.Requests.Cpu().MilliValue()
		c.Resources = workload.Resources{
			Shares: sharesOf(request), QuotaMicros: limit * 100, PeriodMicros: 100_000,
			MemoryBytes: spec.Resources.Limits.Memory().Value(),
		}
		for resource, n := range spec.Resources.Limits {
			if id, ok := v1alpha1.ParseNUMAResource(string(resource)); ok {
				c.Annotations[v1alpha1.AllocatedAnnotation(id)] = tokens(id, int(n.Value()))
			}
		}
	}
	return c
}

// sharesOf returns the CPU shares that the kubelet writes for a request. For 256 CPUs and more, it
// writes the same shares.
func sharesOf(milli int64) uint64 { return min(uint64(milli*1024/1000), 262_144) }

func tokens(node topology.NodeID, n int) string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("numa%d-cpu-%d", node, i))
	}
	return strings.Join(ids, ",")
}

func milliOf(cpus string) int64 {
	q := resource.MustParse(cpus)
	return q.MilliValue()
}
