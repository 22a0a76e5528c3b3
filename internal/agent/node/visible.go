package node

import (
	"slices"
	"strings"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// voidDevices is the value of the variable in containers with CDI devices, so that
// NVIDIA's container runtime adds no GPUs.
// https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
const voidDevices = "void"

// visibleGPUs returns the value that the environment variable with a container's GPUs
// must have, or "" if the value is right or the variable is not set, because the GPUs
// are passed as CDI devices. For GPUs of two resources the variable has those of one,
// because the kubelet keeps one value for a name. A container whose author also sets
// it, e.g. to "all", is refused: the author's value comes after that of the device
// plugin and takes effect, and NRI can replace only the first of two.
// Source: Generator.AdjustEnv in
// https://github.com/containerd/nri/blob/v0.12.5/pkg/runtime-tools/generate/generate.go.
func visibleGPUs(c workload.Container) (string, error) {
	allocated, set := cardsOf(v1alpha1.ParseAllocatedGPUs(c.Annotations)), valuesOf(c.Env, v1alpha1.EnvGPUs)
	if len(allocated) == 0 || len(set) == 0 {
		return "", nil
	}
	last := set[len(set)-1]
	named := strings.Split(last, ",")
	switch {
	case last == voidDevices || slices.Equal(slices.Sorted(slices.Values(named)), allocated):
		return "", nil
	case len(set) > 1:
		return "", refuse(GPUsNamed, "container %q sets %s to %q, and would see other GPUs than it was given; leave the variable to the device plugin",
			c.Name, v1alpha1.EnvGPUs, last)
	}
	return strings.Join(allocated, ","), nil
}

// cardsOf returns the sorted cards and slices to which the device IDs belong, without
// duplicates.
func cardsOf(ids []string) []string {
	var cards []string
	for _, id := range ids {
		cards = append(cards, v1alpha1.GPUOf(id))
	}
	slices.Sort(cards)
	return slices.Compact(cards)
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
