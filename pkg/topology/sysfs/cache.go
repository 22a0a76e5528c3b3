package sysfs

import (
	"fmt"

	"github.com/numalet/numalet/pkg/cpuset"
)

// lastLevelCache returns the CPUs that share the data cache of the highest level with the CPU whose
// directory is dir. It returns the empty set if the kernel reports no cache. If the kernel reports
// an empty set of CPUs for this cache, as ia64 kernels do, lastLevelCache assumes that the CPUs of
// the core share the cache.
func (r *reader) lastLevelCache(dir string, core cpuset.Set) (cpuset.Set, error) {
	var last cpuset.Set
	highest := 0
	indexes, err := r.numbered(dir+"/cache", "index")
	if err != nil {
		return last, err
	}
	for _, i := range indexes {
		index := fmt.Sprintf("%s/cache/index%d", dir, i)
		level, shared, err := r.dataCache(index)
		if err != nil {
			return last, err
		}
		if level <= highest {
			continue
		}
		if shared.Empty() {
			shared = core
		}
		highest, last = level, shared
	}
	return last, nil
}

// dataCache returns the level of one cache and the CPUs that share it. The level is 0 or less for
// an instruction cache, and for a cache whose level or CPUs are unknown.
func (r *reader) dataCache(index string) (level int, shared cpuset.Set, err error) {
	kind, err := r.text(index + "/type")
	if err != nil || kind == "Instruction" {
		return 0, shared, err
	}
	if level, err = r.id(index + "/level"); err != nil {
		return 0, shared, err
	}
	shared, found, err := r.maskOrList(index+"/shared_cpu_map", index+"/shared_cpu_list")
	if err != nil || !found {
		return 0, shared, err
	}
	return level, shared, nil
}
