package node

import (
	"slices"
	"strings"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/workload"
)

// handedOverElsewhere is what the variable says in containers whose GPUs come as
// CDI devices, so that NVIDIA's container runtime adds none.
// https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
const handedOverElsewhere = "void"

// visibleGPUs returns what the environment variable of a container has to say that
// names its GPUs, or "" where it says just these, or is not there, for GPUs are
// handed over otherwise. Two things make it say another thing: of GPUs under two
// resources it names one resource's, for the kubelet has one value for a name; and
// a pod's author may set it, to "all" for one.
func visibleGPUs(c workload.Container) string {
	given := cardsOf(v1alpha1.ParseAllocatedGPUs(c.Annotations))
	said, there := lookupEnv(c.Env, v1alpha1.EnvGPUs)
	if len(given) == 0 || !there || said == handedOverElsewhere {
		return ""
	}
	named := strings.Split(said, ",")
	if slices.Equal(slices.Sorted(slices.Values(named)), given) {
		return ""
	}
	return strings.Join(given, ",")
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

// lookupEnv returns the last value of a name.
func lookupEnv(env []string, name string) (value string, there bool) {
	for _, e := range env {
		if v, is := strings.CutPrefix(e, name+"="); is {
			value, there = v, true
		}
	}
	return value, there
}
