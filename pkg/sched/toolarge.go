package sched

import (
	"fmt"
	"iter"
)

// TooLarge says which amount that a pod requests is larger than the whole of any node, so
// that no end of other pods helps, or returns "". O(nodes).
//
// It compares each amount with the largest of any node. A pod can pass and still be too large
// for each node together, which only the filters know.
func TooLarge(pod *Pod, nodes iter.Seq[*Node]) string {
	var most Amounts
	gpus, any := 0, false
	for n := range nodes {
		any = true
		most.CPU, most.Memory, most.Pods = max(most.CPU, n.Allocatable.CPU), max(most.Memory, n.Allocatable.Memory), max(most.Pods, n.Allocatable.Pods)
		gpus = max(gpus, len(n.GPUs))
	}
	if !any {
		return ""
	}
	for _, one := range []struct {
		name      string
		ask, have int64
		unit      int64
		format    string
	}{
		{"CPUs", int64(pod.Requests.CPU), int64(most.CPU), 1000, "%g"},
		{"GiB of memory", int64(pod.Requests.Memory), int64(most.Memory), 1 << 30, "%.4g"},
		{"GPUs", int64(pod.GPUs.Count), int64(gpus), 1, "%g"},
	} {
		if one.ask > one.have {
			amount := func(n int64) string { return fmt.Sprintf(one.format, float64(n)/float64(one.unit)) }
			return fmt.Sprintf("larger than any node: %s %s (largest %s)", amount(one.ask), one.name, amount(one.have))
		}
	}
	return ""
}
