package filter

import (
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// freeExclusive returns Σ freeᵢ over the NUMA nodes, which is compared with
// peakExclusive.
func freeExclusive(n *sched.Node) int64 {
	sum := int64(0)
	for _, on := range n.NUMA {
		sum += int64(max(0, on.FreeCPUs))
	}
	return sum
}

func peakExclusive(p *sched.Pod) int64 {
	return podspec.Peak(p.Exclusive, func(c int) int64 { return int64(p.Exclusive[c].CPUs) })
}

// largestFree returns max freeᵢ, which is compared with the CPUs of the largest
// container: with the policy single they are all on one NUMA node.
func largestFree(n *sched.Node) int64 {
	most := 0
	for _, on := range n.NUMA {
		most = max(most, on.FreeCPUs)
	}
	return int64(most)
}

// evenFree returns M·min + |{i : freeᵢ > min}| for M NUMA nodes, where min is the
// smallest free count. It is compared with the CPUs k of the largest container: with the
// policy spread each NUMA node provides ⌊k/M⌋ ≤ min CPUs, and k mod M of them one more.
// The result is the largest such k.
func evenFree(n *sched.Node) int64 {
	if len(n.NUMA) == 0 {
		return 0
	}
	least := max(0, n.NUMA[0].FreeCPUs)
	for _, on := range n.NUMA {
		least = min(least, max(0, on.FreeCPUs))
	}
	above := 0
	for _, on := range n.NUMA {
		if on.FreeCPUs > least {
			above++
		}
	}
	return int64(len(n.NUMA)*least + above)
}

// ofPolicy returns a function that returns the CPUs of a pod's largest exclusive
// container, or 0 for pods with another policy. Containers that name their CPU counts by NUMA node
// are ignored, because no policy applies to them.
func ofPolicy(policy podspec.Policy) func(*sched.Pod) int64 {
	return func(p *sched.Pod) int64 {
		most := 0
		for _, c := range p.Exclusive {
			if p.CPUPolicy == policy && c.PerNode == nil {
				most = max(most, c.CPUs)
			}
		}
		return int64(most)
	}
}
