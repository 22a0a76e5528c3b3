package topology

import (
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
)

// Cache is the part of a last-level cache that lies in one NUMA node: the cores that share
// it.
type Cache struct {
	ID      cpuset.CPU // the smallest CPU that shares the whole cache; Unknown if none is known
	Package int        // Unknown if the kernel does not report it
	NUMA    NodeID     // Unknown if its CPUs are in no node
	Cores   []cpuset.Set
}

// Caches returns the online cores of the machine by package, NUMA node and last-level
// cache, ordered by their smallest CPU. A CPU whose core is unknown is a core of its own.
// O(CPUs).
func (m *Machine) Caches() []Cache {
	type place struct {
		pkg       int
		numa      NodeID
		llc, core cpuset.CPU
	}
	var caches []Cache
	cacheAt, coreAt := map[place]int{}, map[place]int{}
	for _, cpu := range m.CPUs {
		if !cpu.Online {
			continue
		}
		at := place{pkg: cpu.Package, numa: cpu.NUMA, llc: cpu.LLC, core: Unknown}
		i, seen := cacheAt[at]
		if !seen {
			i, cacheAt[at] = len(caches), len(caches)
			caches = append(caches, Cache{ID: cpu.LLC, Package: cpu.Package, NUMA: cpu.NUMA})
		}
		cache := &caches[i]
		if at.core = cpu.Core; at.core == Unknown {
			at.core = cpu.ID
		}
		j, seen := coreAt[at]
		if !seen {
			j, coreAt[at] = len(cache.Cores), len(cache.Cores)
			cache.Cores = append(cache.Cores, cpuset.Set{})
		}
		cache.Cores[j] = cache.Cores[j].Union(cpuset.Of(cpu.ID))
	}
	return caches
}

// CPUsOf returns the CPUs of caches, ordered by ID. It is the inverse of Caches, except for what
// Caches leaves out: dies, kinds of cores, and isolated CPUs. O(CPUs · log CPUs).
func CPUsOf(caches []Cache) []CPU {
	var cpus []CPU
	for _, cache := range caches {
		for _, core := range cache.Cores {
			first, _ := core.First()
			for id := range core.All() {
				cpus = append(cpus, CPU{ID: id, Online: true, Package: cache.Package, NUMA: cache.NUMA, Core: first, LLC: cache.ID})
			}
		}
	}
	slices.SortFunc(cpus, func(a, b CPU) int { return int(a.ID) - int(b.ID) })
	return cpus
}
