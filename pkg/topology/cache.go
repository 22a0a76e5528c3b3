package topology

import (
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
)

// Cache has the cores that share a last-level cache. If these cores are in several NUMA nodes or
// packages, there is one Cache for each NUMA node and package.
type Cache struct {
	ID      cpuset.CPU // the smallest of all CPUs that share the last-level cache; Unknown if not reported
	Package int        // Unknown if the kernel does not report it
	NUMA    NodeID     // Unknown if the CPUs are in no NUMA node
	Cores   []cpuset.Set
}

// Caches returns the machine's cores that have online CPUs, grouped by package, NUMA node and
// last-level cache. Both caches and cores are sorted by their smallest CPU. A CPU whose core is
// unknown counts as a core of its own.
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

// CPUsOf returns the CPUs of the given caches, sorted by ID. CPUsOf(m.Caches()) returns the online
// CPUs of the machine m. Their fields Die, Kind and Isolated are not set, because a Cache does not
// have this information.
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
