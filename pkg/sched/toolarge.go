package sched

import (
	"fmt"
	"iter"
)

// TooLarge compares a pod's requests for CPUs, memory and GPUs, in this order, with what each node
// has, free or in use. It returns a text about the first resource of which the pod requests more
// than any node has. Such a pod does not fit even if all other pods end. TooLarge returns "" if
// there is no such resource, or if there are no nodes.
//
// TooLarge compares the request for each resource with the node that has the most of this resource.
// So it may return "" although no single node has enough of all three.
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
