package sysfs

import (
	"errors"
	"fmt"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

const cpuDir = "sys/devices/system/cpu"

// presence returns the CPUs that the kernel shows and those that are online.
// Kernels before 2.6.24 have no list of online CPUs; there every CPU that can
// be switched off says itself whether it is on.
func (r *reader) presence() (all, online cpuset.Set, err error) {
	ids, err := r.numbered(cpuDir, "cpu")
	if err != nil {
		return all, online, err
	}
	for _, id := range ids {
		all = all.Union(cpuset.Of(cpuset.CPU(id)))
	}
	online, told, err := r.list(cpuDir + "/online")
	if err == nil && !told {
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

// cpus returns every CPU. An offline CPU has no topology: kernels remove its
// files, or leave what was true before.
func (r *reader) cpus(all, online cpuset.Set, nodes []topology.Node) ([]topology.CPU, error) {
	var cpus []topology.CPU
	for id := range all.All() {
		cpu := topology.CPU{
			ID: id, Package: topology.Unknown, Die: topology.Unknown,
			NUMA: topology.Unknown, Core: topology.Unknown, LLC: topology.Unknown,
		}
		if online.Has(id) {
			cpu.Online = true
			cpu.NUMA = home(nodes, id)
			if err := r.place(&cpu, online); err != nil {
				return nil, err
			}
		}
		cpus = append(cpus, cpu)
	}
	r.noteSilent(cpus)
	return cpus, nil
}

// noteSilent notes the online CPUs that do not tell their core where others do.
func (r *reader) noteSilent(cpus []topology.CPU) {
	var silent []cpuset.CPU
	online := 0
	for _, c := range cpus {
		if c.Online {
			online++
		}
		if c.Online && c.Core == topology.Unknown {
			silent = append(silent, c.ID)
		}
	}
	if len(silent) > 0 && len(silent) < online {
		r.note("CPUs %s do not tell their core, as others do: each is taken for a core of its own", cpuset.Of(silent...))
	}
}

// home returns the node that has the CPU, or Unknown.
func home(nodes []topology.Node, id cpuset.CPU) topology.NodeID {
	for i := range nodes {
		if nodes[i].CPUs.Has(id) {
			return nodes[i].ID
		}
	}
	return topology.Unknown
}

// place fills in what an online CPU's own directory says.
func (r *reader) place(cpu *topology.CPU, online cpuset.Set) (err error) {
	dir := fmt.Sprintf("%s/cpu%d", cpuDir, cpu.ID)
	if cpu.Package, err = r.id(dir + "/topology/physical_package_id"); err != nil {
		return err
	}
	if cpu.Die, err = r.id(dir + "/topology/die_id"); err != nil {
		return err
	}
	siblings, err := r.siblings(dir)
	if err != nil {
		return err
	}
	cpu.Core = r.smallest(siblings, online, cpu.ID, "core")
	shared, err := r.lastLevelCache(dir, siblings)
	if err != nil {
		return err
	}
	cpu.LLC = r.smallest(shared, online, cpu.ID, "last-level cache")
	return nil
}

// siblings returns the hardware threads of a CPU's core: the file's name since
// Linux 5.3, else its name before. Not core_id, which counts anew in every
// package, and on some machines in every die.
func (r *reader) siblings(dir string) (cpuset.Set, error) {
	set, told, err := r.maskOrList(dir+"/topology/core_cpus", dir+"/topology/core_cpus_list")
	if told || err != nil {
		return set, err
	}
	set, _, err = r.maskOrList(dir+"/topology/thread_siblings", dir+"/topology/thread_siblings_list")
	return set, err
}

// smallest returns the smallest online CPU of a group that a CPU says it is
// in; Unknown for no group. Groups may list offline CPUs.
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

// isolation marks the CPUs of isolcpus=.
func (r *reader) isolation(cpus []topology.CPU) error {
	isolated, _, err := r.list(cpuDir + "/isolated")
	for i := range cpus {
		cpus[i].Isolated = isolated.Has(cpus[i].ID)
	}
	return err
}
