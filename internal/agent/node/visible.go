package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// voidDevices is the value of NVIDIA_VISIBLE_DEVICES with which NVIDIA's container runtime adds no
// GPUs to a container. A container that gets its GPUs as devices of the Container Device Interface
// (CDI) has this value, too.
// https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
const voidDevices = "void"

// visibleGPUs returns the value that the agent must set for NVIDIA_VISIBLE_DEVICES in a container.
// It returns "" if the agent need not set the variable. It refuses a container with GPUs if the
// pod's author also sets the variable to other GPUs, for example to "all". The container's
// environment then has two entries for the variable. The author's entry comes after that of the
// device plugin and takes effect, but NRI can replace only the first of the two.
// Source: Generator.AdjustEnv in
// https://github.com/containerd/nri/blob/v0.12.5/pkg/runtime-tools/generate/generate.go.
func (n *Node) visibleGPUs(c workload.Container) (string, error) {
	given, set := gpusOf(v1alpha1.ParseAllocatedGPUs(c.Annotations)), valuesOf(c.Env, v1alpha1.EnvGPUs)
	want := ""
	switch {
	case len(given) > 0:
		want = visibleOf(given, set)
	case n.hidesGPUs(c.Sandbox.Pod):
		want = hiddenFrom(set)
	}
	if want != "" && len(set) > 1 {
		return "", refuse(GPUsNamed, "container %q sets %s to %q, and would see other GPUs than it was given; leave the variable to the device plugin",
			c.Name, v1alpha1.EnvGPUs, set[len(set)-1])
	}
	return want, nil
}

// visibleOf returns the value of NVIDIA_VISIBLE_DEVICES for a container with GPUs. The parameter
// `given` lists these GPUs, and `set` has the value of each entry for the variable in the
// container's environment. visibleOf returns "" if the last value in `set` is right. It also
// returns "" if `set` is empty, because the device plugin then passes the GPUs as devices of the
// Container Device Interface (CDI). If a container has GPUs of two extended resources, the device
// plugin sets the variable once for each resource. The kubelet keeps only one of these two values,
// so the value in `set` lacks the GPUs of the other resource.
func visibleOf(given, set []string) string {
	if len(set) == 0 {
		return ""
	}
	last := set[len(set)-1]
	if named := strings.Split(last, ","); last == voidDevices || slices.Equal(slices.Sorted(slices.Values(named)), given) {
		return ""
	}
	return strings.Join(given, ",")
}

// hidesGPUs reports whether the agent must hide the node's GPUs from those containers of the pod
// that were allocated no GPUs. If NVIDIA's runtime is the node's default runtime, it adds all GPUs
// to a container whose image sets NVIDIA_VISIBLE_DEVICES to "all", and to a container of an old
// image that does not set this variable.
func (n *Node) hidesGPUs(p workload.Pod) bool {
	return n.env.HasGPUs != nil && n.env.HasGPUs() && !slices.Contains(n.cfg.GPUExemptNamespaces, p.Namespace)
}

// hiddenFrom returns the value of NVIDIA_VISIBLE_DEVICES for a container without GPUs. The
// parameter `set` has the value of each entry for the variable in the container's environment.
// hiddenFrom returns "" if the last of these values already hides all GPUs. The values "void",
// "none" and the empty value do so.
func hiddenFrom(set []string) string {
	if len(set) > 0 && slices.Contains([]string{voidDevices, "none", ""}, set[len(set)-1]) {
		return ""
	}
	return voidDevices
}

// GPUsHiddenReason is the reason of an event on a pod. The event says that a container of the pod
// names GPUs by UUID, and that the agent hides them.
const GPUsHiddenReason = "NumaletGPUsHidden"

// warnOfHidden writes an event if the container's environment names GPUs or MIG slices by UUID, and
// the agent hides them. The parameter `visible` is the result of visibleGPUs. Another device plugin,
// such as that of NVIDIA, may have allocated these GPUs to the container. Without the event, nothing
// would show this plugin, because its devices have the same IDs as those of Numalet.
func (n *Node) warnOfHidden(c workload.Container, visible string) {
	set := valuesOf(c.Env, v1alpha1.EnvGPUs)
	if visible != voidDevices || len(set) == 0 {
		return
	}
	named := set[len(set)-1]
	if !strings.HasPrefix(named, "GPU-") && !strings.HasPrefix(named, "MIG-") {
		return
	}
	n.env.Events.Warn(c.Sandbox.Pod, GPUsHiddenReason, fmt.Sprintf(
		"container %q sees none of the GPUs that %s names (%s), because numalet-deviceplugin did not allocate them to it; if another device plugin did, remove that plugin and create the pod again",
		c.Name, v1alpha1.EnvGPUs, named))
}

// gpusOf returns the sorted GPUs and MIG slices to which the device IDs belong, without
// duplicates.
func gpusOf(ids []string) []string {
	var gpus []string
	for _, id := range ids {
		gpus = append(gpus, v1alpha1.GPUOf(id))
	}
	slices.Sort(gpus)
	return slices.Compact(gpus)
}

// valuesOf returns the value of each entry for one variable in the list `env` of environment
// variables. If there are several entries, the last takes effect.
func valuesOf(env []string, name string) (values []string) {
	for _, e := range env {
		if v, is := strings.CutPrefix(e, name+"="); is {
			values = append(values, v)
		}
	}
	return values
}
