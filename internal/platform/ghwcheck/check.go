// Package ghwcheck compares the discovered topology and GPUs with what the library ghw reports.
//
// ghw (github.com/jaypipes/ghw) can leave out NUMA nodes without an error, and can merge cores of
// different dies and packages. So Numalet reads the topology with its own package topology/sysfs.
// The comparison is a check of topology/sysfs: a difference is an error of ghw or of Numalet, and
// causes only a warning. Memory is not compared. ghw reports the size in /proc/meminfo. In a
// container or a virtual machine, this size can be smaller than that of the NUMA nodes in sysfs,
// although both sizes are correct.
package ghwcheck

import (
	"fmt"
	"slices"

	"github.com/jaypipes/ghw"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// ghwMachine is a machine as ghw reports it.
type ghwMachine struct {
	nodes map[topology.NodeID]cpuset.Set
	cores []cpuset.Set
}

// Differences compares the topology that Numalet found (`machine`) with the topology that ghw
// reports for the machine with the given root directory. It returns one sentence for each
// difference. The sentences are only warnings, because Numalet uses only the topology that it read
// from the kernel.
func Differences(machine *topology.Machine, root string) []string {
	v, err := readGHW(root)
	if err != nil {
		return []string{fmt.Sprintf("ghw cannot read this machine (%v): the topology is unchecked", err)}
	}
	return compare(machine, v)
}

func readGHW(root string) (ghwMachine, error) {
	options := []any{ghw.WithChroot(root), ghw.WithDisableTools(), ghw.WithDisableWarnings()}
	info, err := ghw.Topology(options...)
	if err != nil {
		return ghwMachine{}, err
	}
	v := ghwMachine{nodes: map[topology.NodeID]cpuset.Set{}}
	for _, node := range info.Nodes {
		var cpus cpuset.Set
		for _, core := range node.Cores {
			threads := asSet(core.LogicalProcessors)
			v.cores = append(v.cores, threads)
			cpus = cpus.Union(threads)
		}
		v.nodes[topology.NodeID(node.ID)] = cpus
	}
	return v, nil
}

func asSet(ids []int) cpuset.Set {
	var set cpuset.Set
	for _, id := range ids {
		if id >= 0 && id <= int(cpuset.MaxCPU) {
			set = set.Union(cpuset.Of(cpuset.CPU(id)))
		}
	}
	return set
}

func compare(machine *topology.Machine, v ghwMachine) []string {
	var differences []string
	differ := func(format string, args ...any) {
		differences = append(differences, fmt.Sprintf(format, args...)+" (sysfs is believed)")
	}
	if len(v.nodes) != len(machine.Nodes) {
		differ("ghw sees %d NUMA nodes, sysfs %d", len(v.nodes), len(machine.Nodes))
	}
	for _, numaNode := range machine.Nodes {
		if cpus, seen := v.nodes[numaNode.ID]; seen && !cpus.Equal(numaNode.CPUs) {
			differ("ghw sees CPUs %q on NUMA node %d, sysfs %q", cpus, numaNode.ID, numaNode.CPUs)
		}
	}
	for _, threads := range v.cores {
		if merged := mixes(machine, threads); merged {
			differ("ghw takes CPUs %s for one core, sysfs does not", threads)
		}
	}
	return differences
}

// mixes reports whether the given CPUs, which ghw reports as one core, belong to more than one core
// of the machine.
func mixes(machine *topology.Machine, cpus cpuset.Set) bool {
	var cores []cpuset.CPU
	for _, cpu := range machine.CPUs {
		if cpus.Has(cpu.ID) {
			cores = append(cores, cpu.Core)
		}
	}
	return len(slices.Compact(slices.Sorted(slices.Values(cores)))) > 1
}
