package sched

import (
	"fmt"
	"iter"
)

// TooLarge returns a text that names the first of CPUs, memory and GPUs of which the pod requests
// more than any node has in total. Such a pod does not fit even if all other pods end. TooLarge
// returns "" if there is no such amount, or if there are no nodes.
//
// TooLarge compares each requested amount by itself with the largest amount of any node. So it may
// return "" although no single node has enough of all three.
func TooLarge(pod *Pod, nodes iter.Seq[*Node]) string {
	var most Amounts
	gpus, any := 0, false
	for n := range nodes {
		any = true
		most.CPU, most.Memory = max(most.CPU, n.Allocatable.CPU), max(most.Memory, n.Allocatable.Memory)
		gpus = max(gpus, len(n.GPUs))
	}
	if !any {
		return ""
	}
	for _, one := range []struct {
		name          string
		request, have int64
		unit          int64
		format        string
	}{
		{"CPUs", int64(pod.Requests.CPU), int64(most.CPU), 1000, "%g"},
		{"GiB of memory", int64(pod.Requests.Memory), int64(most.Memory), 1 << 30, "%.4g"},
		{"GPUs", int64(pod.GPUs.Count), int64(gpus), 1, "%g"},
	} {
		if one.request > one.have {
			amount := func(n int64) string { return fmt.Sprintf(one.format, float64(n)/float64(one.unit)) }
			return fmt.Sprintf("larger than any node: %s %s (largest %s)", amount(one.request), one.name, amount(one.have))
		}
	}
	return ""
}
