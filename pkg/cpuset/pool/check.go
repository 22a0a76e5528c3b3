package pool

import (
	"fmt"

	"github.com/numalet/numalet/pkg/podspec"
)

// check refuses a pod that contradicts itself or the machine.
func (l *Ledger) check(p Pod) *Refusal {
	invalid := func(w podspec.Container, format string, args ...any) *Refusal {
		return &Refusal{Reason: Invalid, Container: w.Name, Policy: p.Policy, CPUs: w.CPUs, Detail: fmt.Sprintf(format, args...)}
	}
	if p.UID == "" {
		return invalid(podspec.Container{}, "the pod has no UID")
	}
	if len(p.Containers) == 0 {
		return invalid(podspec.Container{}, "no container of the pod asks for exclusive CPUs")
	}
	names := map[string]bool{}
	for _, w := range p.Containers {
		if names[w.Name] {
			return invalid(w, "the pod has two containers of that name")
		}
		names[w.Name] = true
		if w.CPUs <= 0 {
			return invalid(w, "it asks for %d exclusive CPUs; ask for 1 or more", w.CPUs)
		}
		if why := l.contradiction(p.Policy, w); why != "" {
			return invalid(w, "%s", why)
		}
	}
	return nil
}

// contradiction says how the counts that a container names cannot be meant, or "".
func (l *Ledger) contradiction(policy podspec.Policy, w podspec.Container) string {
	if w.PerNode == nil {
		return ""
	}
	capacity, sum, used := l.Capacity(), 0, 0
	low, high := w.CPUs, 0
	for id, k := range w.PerNode {
		if k < 0 || k > capacity[id] {
			return fmt.Sprintf("it asks for %d CPUs on NUMA node %d; the NUMA nodes here have %s", k, id, numbers(capacity))
		}
	}
	for id := range capacity {
		k := w.PerNode[id]
		sum, low, high = sum+k, min(low, k), max(high, k)
		if k > 0 {
			used++
		}
	}
	switch {
	case sum != w.CPUs:
		return fmt.Sprintf("its counts on NUMA nodes add up to %d, but it asks for %d CPUs; make them equal", sum, w.CPUs)
	case policy == podspec.Single && used > 1:
		return fmt.Sprintf("its counts lie on %d NUMA nodes, but its policy is single", used)
	case policy == podspec.Spread && high-low > 1:
		return fmt.Sprintf("its counts differ by %d between NUMA nodes, but its policy is spread, which allows 1", high-low)
	}
	return ""
}
