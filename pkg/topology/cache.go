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
	for _, c := range m.CPUs {
		if !c.Online {
			continue
		}
		at := place{pkg: c.Package, numa: c.NUMA, llc: c.LLC, core: Unknown}
		i, seen := cacheAt[at]
		if !seen {
			i, cacheAt[at] = len(caches), len(caches)
			caches = append(caches, Cache{ID: c.LLC, Package: c.Package, NUMA: c.NUMA})
		}
		cache := &caches[i]
		if at.core = c.Core; at.core == Unknown {
			at.core = c.ID
		}
		j, seen := coreAt[at]
		if !seen {
			j, coreAt[at] = len(cache.Cores), len(cache.Cores)
			cache.Cores = append(cache.Cores, cpuset.Set{})
		}
		cache.Cores[j] = cache.Cores[j].Union(cpuset.Of(c.ID))
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
