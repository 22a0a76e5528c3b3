package filter

import (
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// freeExclusive returns Σ freeᵢ over the NUMA nodes, which is compared with
// peakExclusive.
func freeExclusive(node *sched.Node) int64 {
	sum := int64(0)
	for _, on := range node.NUMA {
		sum += int64(max(0, on.FreeCPUs))
	}
	return sum
}

func peakExclusive(pod *sched.Pod) int64 {
	return podspec.Peak(pod.Exclusive, func(c int) int64 { return int64(pod.Exclusive[c].CPUs) })
}

// largestFree returns max freeᵢ, which is compared with the CPUs of the largest
// container: with the policy single they are all on one NUMA node.
func largestFree(node *sched.Node) int64 {
	most := 0
	for _, on := range node.NUMA {
		most = max(most, on.FreeCPUs)
	}
	return int64(most)
}

// evenFree returns M·min + |{i : freeᵢ > min}| for M NUMA nodes, where min is the
// smallest free count. It is compared with the CPUs k of the largest container: with the
// policy spread each NUMA node provides ⌊k/M⌋ ≤ min CPUs, and k mod M of them one more.
// The result is the largest such k.
func evenFree(node *sched.Node) int64 {
	if len(node.NUMA) == 0 {
		return 0
	}
	least := max(0, node.NUMA[0].FreeCPUs)
	for _, on := range node.NUMA {
		least = min(least, max(0, on.FreeCPUs))
	}
	above := 0
	for _, on := range node.NUMA {
		if on.FreeCPUs > least {
			above++
		}
	}
	return int64(len(node.NUMA)*least + above)
}

// ofPolicy returns a function that returns the CPUs of a pod's largest exclusive
// container, or 0 for pods with another policy. Containers that name their CPU counts by NUMA node
// are ignored, because no policy applies to them.
func ofPolicy(policy podspec.Policy) func(*sched.Pod) int64 {
	return func(pod *sched.Pod) int64 {
		most := 0
		for _, container := range pod.Exclusive {
			if pod.CPUPolicy == policy && container.PerNode == nil {
				most = max(most, container.CPUs)
			}
		}
		return int64(most)
	}
}
