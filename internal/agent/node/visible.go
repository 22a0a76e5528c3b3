package node

import (
	"slices"
	"strings"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// handedOverElsewhere is the value of the variable in containers with CDI devices, so
// that NVIDIA's container runtime adds no GPUs.
// https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
const handedOverElsewhere = "void"

// visibleGPUs returns what the environment variable of a container has to say that
// names its GPUs, or "" where it says just these, or is not there, for GPUs are
// handed over otherwise. Of GPUs under two resources it names one resource's, for the
// kubelet has one value for a name. A container whose author sets it too, to "all" for
// one, is refused: the author's value comes behind the device plugin's and is what
// counts, and NRI can replace the first of two only.
// Source: Generator.AdjustEnv in
// https://github.com/containerd/nri/blob/v0.12.5/pkg/runtime-tools/generate/generate.go.
func visibleGPUs(c workload.Container) (string, error) {
	given, said := cardsOf(v1alpha1.ParseAllocatedGPUs(c.Annotations)), valuesOf(c.Env, v1alpha1.EnvGPUs)
	if len(given) == 0 || len(said) == 0 {
		return "", nil
	}
	last := said[len(said)-1]
	named := strings.Split(last, ",")
	switch {
	case last == handedOverElsewhere || slices.Equal(slices.Sorted(slices.Values(named)), given):
		return "", nil
	case len(said) > 1:
		return "", refuse(GPUsNamed, "container %q sets %s to %q, and would see other GPUs than it was given; leave the variable to the device plugin",
			c.Name, v1alpha1.EnvGPUs, last)
	}
	return strings.Join(given, ","), nil
}

// cardsOf returns the cards and slices that devices are, or are shares of, each
// once, sorted.
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
