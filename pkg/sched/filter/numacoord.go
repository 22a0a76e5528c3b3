package filter

import (
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/sched"
)

// freeExclusive is Σ freeᵢ over the NUMA nodes, against the pod's peak.
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

// largestFree is max freeᵢ, against the CPUs of the largest container: with
// single they all lie on one NUMA node.
func largestFree(n *sched.Node) int64 {
	most := 0
	for _, on := range n.NUMA {
		most = max(most, on.FreeCPUs)
	}
	return int64(most)
}

// evenFree is M·min + |{i : freeᵢ > min}| for M NUMA nodes, min the smallest
// free count, against the CPUs k of the largest container: with spread each node
// gives ⌊k/M⌋ ≤ min, and k mod M of them give one more. It is the largest k
// that the free counts could serve if the odd ones came one by one.
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

// ofPolicy returns the CPUs of the largest exclusive container of pods with that
// policy, and 0 of all others. A container that names its counts is not bound to
// a policy.
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
