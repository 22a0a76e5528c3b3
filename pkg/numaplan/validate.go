package numaplan

import (
	"fmt"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// Validate returns a refusal if a request contradicts itself, or cannot fit a machine that has
// these CPUs on its NUMA nodes even if none is in use. Otherwise it returns nil.
func Validate(r Request, capacity map[topology.NodeID]int) *Refusal {
	invalid := func(c podspec.Container, format string, args ...any) *Refusal {
		return &Refusal{Reason: Invalid, Container: c.Name, Policy: r.Policy, CPUs: c.CPUs, Detail: fmt.Sprintf(format, args...)}
	}
	if len(r.Containers) == 0 {
		return invalid(podspec.Container{}, "no container of the pod asks for exclusive CPUs")
	}
	names := map[string]bool{}
	for _, c := range r.Containers {
		if names[c.Name] {
			return invalid(c, "the pod has two containers of that name")
		}
		names[c.Name] = true
		if c.CPUs <= 0 {
			return invalid(c, "it asks for %d exclusive CPUs; ask for 1 or more", c.CPUs)
		}
		if why := contradiction(r.Policy, c, capacity); why != "" {
			return invalid(c, "%s", why)
		}
	}
	return nil
}

// contradiction returns what is wrong with the counts that a container names, or "".
func contradiction(policy podspec.Policy, c podspec.Container, capacity map[topology.NodeID]int) string {
	if c.PerNode == nil {
		return ""
	}
	for id, k := range c.PerNode {
		if k < 0 || k > capacity[id] {
			return fmt.Sprintf("it asks for %d CPUs on NUMA node %d; the NUMA nodes here have %s", k, id, Numbers(capacity))
		}
	}
	sum, used, low, high := 0, 0, c.CPUs, 0
	for id := range capacity {
		k := c.PerNode[id]
		sum, low, high = sum+k, min(low, k), max(high, k)
		if k > 0 {
			used++
		}
	}
	switch {
	case sum != c.CPUs:
		return fmt.Sprintf("its counts on NUMA nodes add up to %d, but it asks for %d CPUs; make them equal", sum, c.CPUs)
	case policy == podspec.Single && used > 1:
		return fmt.Sprintf("its counts lie on %d NUMA nodes, but its policy is single", used)
	case policy == podspec.Spread && high-low > 1:
		return fmt.Sprintf("its counts differ by %d between NUMA nodes, but its policy is spread, which allows 1", high-low)
	}
	return ""
}
