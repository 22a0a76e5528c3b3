package sysfs

import (
	"errors"
	"fmt"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

const cpuDir = "sys/devices/system/cpu"

// presence returns all CPUs (those that have a directory or are online), and the online CPUs.
// Kernels before 2.6.24 have no list of online CPUs. Instead, each CPU that can be disabled has a
// file "online" in its directory.
func (r *reader) presence() (all, online cpuset.Set, err error) {
	ids, err := r.numbered(cpuDir, "cpu")
	if err != nil {
		return all, online, err
	}
	for _, id := range ids {
		all = all.Union(cpuset.Of(cpuset.CPU(id)))
	}
	online, found, err := r.list(cpuDir + "/online")
	if err == nil && !found {
		online, err = r.onlineOneByOne(all)
	}
	if err == nil && online.Empty() {
		err = errors.New("no online CPU under " + cpuDir + ": is this the root of a mounted sysfs or of a captured tree?")
	}
	return all.Union(online), online, err
}

func (r *reader) onlineOneByOne(all cpuset.Set) (cpuset.Set, error) {
	var online []cpuset.CPU
	for id := range all.All() {
		text, err := r.text(fmt.Sprintf("%s/cpu%d/online", cpuDir, id))
		if err != nil {
			return cpuset.Set{}, err
		}
		if text != "0" {
			online = append(online, id)
		}
	}
	return cpuset.Of(online...), nil
}

// cpus returns all CPUs with their topology. The topology of an offline CPU is unknown, because
// kernels remove its files or leave outdated files.
func (r *reader) cpus(all, online cpuset.Set, nodes []topology.Node) ([]topology.CPU, error) {
	var cpus []topology.CPU
	caches := map[cpuset.CPU]cpuset.Set{}
	for id := range all.All() {
		cpu := topology.CPU{
			ID: id, Package: topology.Unknown, Die: topology.Unknown,
			NUMA: topology.Unknown, Core: topology.Unknown, LLC: topology.Unknown,
		}
		if online.Has(id) {
			cpu.Online = true
			cpu.NUMA = nodeOf(nodes, id)
			shared, err := r.readCPU(&cpu, online)
			if err != nil {
				return nil, err
			}
			caches[id] = shared.Intersect(online)
		}
		cpus = append(cpus, cpu)
	}
	r.noteWithoutCore(cpus)
	r.forgetContradictions(cpus, caches)
	return cpus, nil
}

// noteWithoutCore adds a note if the kernel reports the cores of some online CPUs, but not of all.
func (r *reader) noteWithoutCore(cpus []topology.CPU) {
	var silent []cpuset.CPU
	online := 0
	for _, cpu := range cpus {
		if cpu.Online {
			online++
		}
		if cpu.Online && cpu.Core == topology.Unknown {
			silent = append(silent, cpu.ID)
		}
	}
	if len(silent) > 0 && len(silent) < online {
		r.note("CPUs %s do not tell their core, as others do: each is taken for a core of its own", cpuset.Of(silent...))
	}
}

// nodeOf returns the NUMA node of a CPU, or Unknown.
func nodeOf(nodes []topology.Node, id cpuset.CPU) topology.NodeID {
	for i := range nodes {
		if nodes[i].CPUs.Has(id) {
			return nodes[i].ID
		}
	}
	return topology.Unknown
}

// readCPU sets the fields of an online CPU that are read from the CPU's directory. It returns the
// CPUs that share the CPU's last-level cache.
func (r *reader) readCPU(cpu *topology.CPU, online cpuset.Set) (shared cpuset.Set, err error) {
	dir := fmt.Sprintf("%s/cpu%d", cpuDir, cpu.ID)
	if cpu.Package, err = r.id(dir + "/topology/physical_package_id"); err != nil {
		return shared, err
	}
	if cpu.Die, err = r.id(dir + "/topology/die_id"); err != nil {
		return shared, err
	}
	siblings, err := r.siblings(dir)
	if err != nil {
		return shared, err
	}
	cpu.Core = r.smallest(siblings, online, cpu.ID, "core")
	if shared, err = r.lastLevelCache(dir, siblings); err != nil {
		return shared, err
	}
	cpu.LLC = r.smallest(shared, online, cpu.ID, "last-level cache")
	return shared, nil
}

// forgetContradictions sets the last-level cache of two CPUs to unknown if their files contradict
// each other: the files of the first CPU say that the second CPU shares this cache, but the files
// of the second CPU list another set of CPUs. It is not known which files are right.
func (r *reader) forgetContradictions(cpus []topology.CPU, caches map[cpuset.CPU]cpuset.Set) {
	var wrong cpuset.Set
	for id, shared := range caches {
		for other := range shared.All() {
			if theirs := caches[other]; !theirs.Empty() && !theirs.Equal(shared) {
				wrong = wrong.Union(cpuset.Of(id, other))
			}
		}
	}
	for i := range cpus {
		if wrong.Has(cpus[i].ID) {
			cpus[i].LLC = topology.Unknown
		}
	}
	if !wrong.Empty() {
		r.note("CPUs %s contradict each other about who shares their last-level cache: taken for unknown", wrong)
	}
}

// siblings returns the hardware threads of the core of the CPU whose directory is dir. It reads the
// files core_cpus and core_cpus_list, which Linux has since 5.3, or else the files of older
// kernels. It does not use core_id, because this number is unique only within a package, and on
// some machines only within a die.
func (r *reader) siblings(dir string) (cpuset.Set, error) {
	set, found, err := r.maskOrList(dir+"/topology/core_cpus", dir+"/topology/core_cpus_list")
	if found || err != nil {
		return set, err
	}
	set, _, err = r.maskOrList(dir+"/topology/thread_siblings", dir+"/topology/thread_siblings_list")
	return set, err
}

// smallest returns the smallest online CPU of a group, such as the CPUs of a core. The argument
// `self` is the CPU from whose files the group comes. The group may have offline CPUs. If the group
// is empty, or if it does not contain the CPU `self`, smallest returns Unknown.
func (r *reader) smallest(group, online cpuset.Set, self cpuset.CPU, what string) cpuset.CPU {
	if group.Empty() {
		return topology.Unknown
	}
	if !group.Has(self) {
		r.note("cpu%d says that its %s is that of CPUs %s, without itself: taken for unknown", self, what, group)
		return topology.Unknown
	}
	first, _ := group.Intersect(online).First()
	return first
}

// isolation marks the CPUs that the kernel's boot parameter isolcpus= isolates.
func (r *reader) isolation(cpus []topology.CPU) error {
	isolated, _, err := r.list(cpuDir + "/isolated")
	for i := range cpus {
		cpus[i].Isolated = isolated.Has(cpus[i].ID)
	}
	return err
}
