package numaplan

import (
	"fmt"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// Validate returns a refusal if a request is invalid, for example because two containers have the
// same name. It also returns a refusal if a request names more CPUs on a NUMA node than the NUMA
// node has. Otherwise it returns nil. The parameter `capacity` is the number of CPUs of each NUMA
// node, including CPUs in use.
func Validate(request Request, capacity map[topology.NodeID]int) *Refusal {
	invalid := func(container podspec.Container, format string, args ...any) *Refusal {
		return &Refusal{Reason: Invalid, Container: container.Name, Policy: request.Policy, CPUs: container.CPUs, Detail: fmt.Sprintf(format, args...)}
	}
	if len(request.Containers) == 0 {
		return invalid(podspec.Container{}, "no container of the pod asks for exclusive CPUs")
	}
	names := map[string]bool{}
	for _, container := range request.Containers {
		if names[container.Name] {
			return invalid(container, "the pod has two containers of that name")
		}
		names[container.Name] = true
		if container.CPUs <= 0 {
			return invalid(container, "it asks for %d exclusive CPUs; ask for 1 or more", container.CPUs)
		}
		if why := contradiction(request.Policy, container, capacity); why != "" {
			return invalid(container, "%s", why)
		}
	}
	return nil
}

// contradiction returns what is wrong with the numbers of CPUs in a container's PerNode. It returns
// "" if nothing is wrong.
func contradiction(policy podspec.Policy, container podspec.Container, capacity map[topology.NodeID]int) string {
	if container.PerNode == nil {
		return ""
	}
	for id, k := range container.PerNode {
		if k < 0 || k > capacity[id] {
			return fmt.Sprintf("it asks for %d CPUs on NUMA node %d; the NUMA nodes here have %s", k, id, Numbers(capacity))
		}
	}
	sum, used, low, high := 0, 0, container.CPUs, 0
	for id := range capacity {
		k := container.PerNode[id]
		sum, low, high = sum+k, min(low, k), max(high, k)
		if k > 0 {
			used++
		}
	}
	switch {
	case sum != container.CPUs:
		return fmt.Sprintf("its counts on NUMA nodes add up to %d, but it asks for %d CPUs; make them equal", sum, container.CPUs)
	case policy == podspec.Single && used > 1:
		return fmt.Sprintf("its counts lie on %d NUMA nodes, but its policy is single", used)
	case policy == podspec.Spread && high-low > 1:
		return fmt.Sprintf("its counts differ by %d between NUMA nodes, but its policy is spread, which allows 1", high-low)
	}
	return ""
}
