package e2eutil

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/topology"
)

const (
	image = "localhost/probe:e2e"
	// traces is the directory of the containers' records. It has the same path on the node and in
	// the container.
	traces = "/var/lib/numalet-e2e"
)

// Container is a container of a test pod. It runs the program test/e2e/probe, which records its
// allowed CPUs in a file on the node.
type Container struct {
	Name    string
	CPU     string // limit and request, as in a manifest: if the pod has a CPU policy, "2" gives exclusive CPUs, and "500m" shared CPUs
	Init    bool
	Sidecar bool
	On      map[topology.NodeID]int // number of CPUs that are requested of single NUMA nodes, with resources such as numalet.dev/numa1-cpu
	Huge    int                     // huge pages of 2 MiB, which the container requests and uses
	Life    time.Duration           // how long the container runs; 0: until it is stopped
	Exit    int                     // exit status after Life
}

// Exclusive reports whether the container requests exclusive CPUs if its pod has the given CPU
// policy. The policy "" stands for none.
func (c Container) Exclusive(policy string) bool {
	q, err := resource.ParseQuantity(c.CPU)
	return c.On != nil || policy != "" && err == nil && q.MilliValue()%1000 == 0
}

// Pod returns a Guaranteed pod. If `policy` is "", the pod has no annotation for a CPU policy. Its
// containers then use shared CPUs, except for those that request CPUs of single NUMA nodes
// (Container.On).
func Pod(name, policy string, containers ...Container) *corev1.Pod {
	grace := int64(1)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			RestartPolicy:                 corev1.RestartPolicyAlways,
			AutomountServiceAccountToken:  new(bool),
			HostNetwork:                   true, // the network is not under test, and CNI is slow in emulation
			Volumes: []corev1.Volume{{Name: "traces", VolumeSource: corev1.VolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: traces}}}},
		},
	}
	if policy != "" {
		pod.Annotations[v1alpha1.AnnotationCPUPolicy] = policy
	}
	for _, container := range containers {
		built := build(name, policy, container)
		if container.Init || container.Sidecar {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, built)
		} else {
			pod.Spec.Containers = append(pod.Spec.Containers, built)
		}
	}
	return pod
}

// Once sets the restart policy of a pod to Never, as for the pods of a Job.
func Once(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return pod
}

// Crowd returns a pod of n containers with shared CPUs. The containers only wait and record
// nothing. They cost so little that a hundred fit on an emulated machine. They have no CPU limit,
// because a limit as small as their request would throttle runc, which starts in the container's
// cgroup.
func Crowd(name string, n int) *corev1.Pod {
	pod := Pod(name, "")
	for i := range n {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("c%02d", i), Image: image, ImagePullPolicy: corev1.PullNever, Command: []string{"/probe", "sleep"},
			Env: []corev1.EnvVar{{Name: "NUMALET_ROLE", Value: "shared"}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("10m"),
				corev1.ResourceMemory: resource.MustParse("8Mi"),
			}},
		})
	}
	return pod
}

func build(pod, policy string, c Container) corev1.Container {
	role := "shared"
	if c.Exclusive(policy) {
		role = "exclusive"
	}
	file := fmt.Sprintf("%s/%s_%s_%s", traces, pod, c.Name, role)
	command := []string{"/first", file, "/probe", "run", file}
	if c.Huge > 0 {
		command = append(command, "-huge", strconv.Itoa(c.Huge))
	}
	if c.Life > 0 {
		command = append(command, "-for", c.Life.String(), "-exit", strconv.Itoa(c.Exit))
	}
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(c.CPU),
		corev1.ResourceMemory: resource.MustParse("16Mi"),
	}
	for node, n := range c.On {
		amounts[corev1.ResourceName(v1alpha1.NUMAResource(node))] = *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	if c.Huge > 0 {
		amounts[corev1.ResourceHugePagesPrefix+"2Mi"] = *resource.NewQuantity(int64(c.Huge)<<21, resource.BinarySI)
	}
	built := corev1.Container{
		Name: c.Name, Image: image, ImagePullPolicy: corev1.PullNever, Command: command,
		Env:          []corev1.EnvVar{{Name: "NUMALET_ROLE", Value: role}},
		Resources:    corev1.ResourceRequirements{Limits: amounts, Requests: amounts},
		VolumeMounts: []corev1.VolumeMount{{Name: "traces", MountPath: traces}},
	}
	if c.Sidecar {
		always := corev1.ContainerRestartPolicyAlways
		built.RestartPolicy = &always
	}
	return built
}

// ParseTraces parses a text that has all trace files of the node, one after another. As in the
// output of tail, a header "==> pod_container_role <==" stands before each file. A last line without
// a line break is ignored, because the container may still be writing it.
func ParseTraces(text string) ([]Life, error) {
	var lives []Life
	for part := range strings.SplitSeq(text, "==> ") {
		name, body, ok := strings.Cut(part, " <==\n")
		if !ok {
			continue
		}
		fields := strings.Split(name, "_")
		if len(fields) != 3 {
			return nil, fmt.Errorf("trace file %q is not pod_container_role", name)
		}
		whole := body[:strings.LastIndex(body, "\n")+1]
		more, err := ParseLives(strings.NewReader(whole), fields[0], fields[1], fields[2] == "exclusive")
		if err != nil {
			return nil, err
		}
		lives = append(lives, more...)
	}
	return lives, nil
}
