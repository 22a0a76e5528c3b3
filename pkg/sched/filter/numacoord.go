package filter

import (
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// freeExclusive returns a node's coordinate in the dimension numa-total: the number of free
// exclusive CPUs of all NUMA nodes together. The index of nodes compares this number with the
// largest number of exclusive CPUs that the containers of a pod use at the same time
// (peakExclusive).
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

// largestFree returns a node's coordinate in the dimension numa-single: the largest number of free
// exclusive CPUs on a single NUMA node. The index of nodes compares this number with the number of
// exclusive CPUs of a pod's largest container. It does so only for pods with the CPU policy
// "single", which puts all CPUs of a container on one NUMA node.
func largestFree(node *sched.Node) int64 {
	most := 0
	for _, on := range node.NUMA {
		most = max(most, on.FreeCPUs)
	}
	return int64(most)
}

// evenFree returns a node's coordinate in the dimension numa-spread: the largest number k of
// exclusive CPUs that can be spread evenly over all NUMA nodes. With the CPU policy "spread", each
// of M NUMA nodes provides ⌊k/M⌋ CPUs, and k mod M of them provide one CPU more. If min is the
// smallest number of free exclusive CPUs on a NUMA node, and n NUMA nodes have more than min, the
// largest k is M·min + n. For pods with the CPU policy "spread", the index of nodes compares this k
// with the number of exclusive CPUs of the pod's largest container.
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

// ofPolicy returns the function that computes a pod's coordinate in a dimension for one CPU
// policy. For a pod with this policy, the function returns the number of exclusive CPUs of the
// pod's largest container. For other pods it returns 0. It ignores containers that request CPUs by
// NUMA node (podspec.Container.PerNode), because no CPU policy applies to such containers.
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
