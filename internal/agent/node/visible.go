package node

import (
	"slices"
	"strings"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// voidDevices is the value of the variable with which NVIDIA's container runtime adds no
// GPUs. Containers with CDI devices have it, too.
// https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
const voidDevices = "void"

// visibleGPUs returns the value that the environment variable with a container's GPUs
// must have, or "" if the container's own value is right, or does not matter because no
// GPUs are handed out on this node. A container whose author also sets the variable,
// e.g. to "all", is refused: the author's value comes after that of the device plugin
// and takes effect, and NRI can replace only the first of two.
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

// visibleOf returns the value for a container with GPUs. Without a variable they are
// passed as CDI devices. For GPUs of two resources the variable has those of one,
// because the kubelet keeps one value for a name.
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

// hidesGPUs reports whether a pod's containers without GPUs must see none: NVIDIA's
// runtime, where it is the default, adds all GPUs to an image that sets the variable to
// "all", and to old images that do not set it.
func (n *Node) hidesGPUs(p workload.Pod) bool {
	return n.env.HasGPUs != nil && n.env.HasGPUs() && !slices.Contains(n.cfg.GPUExemptNamespaces, p.Namespace)
}

// hiddenFrom returns the value for a container without GPUs. An empty value and "none"
// add no GPUs either.
func hiddenFrom(set []string) string {
	if len(set) > 0 && slices.Contains([]string{voidDevices, "none", ""}, set[len(set)-1]) {
		return ""
	}
	return voidDevices
}

// gpusOf returns the sorted GPUs and slices to which the device IDs belong, without
// duplicates.
func gpusOf(ids []string) []string {
	var gpus []string
	for _, id := range ids {
		gpus = append(gpus, v1alpha1.GPUOf(id))
	}
	slices.Sort(gpus)
	return slices.Compact(gpus)
}

// valuesOf returns all values of a variable; the last one is in effect.
func valuesOf(env []string, name string) (values []string) {
	for _, e := range env {
		if v, is := strings.CutPrefix(e, name+"="); is {
			values = append(values, v)
		}
	}
	return values
}
