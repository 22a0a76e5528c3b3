package sysfs

import (
	"fmt"
	"io/fs"

	"github.com/numalet/numalet/pkg/topology"
)

// Discover reads a machine from a root directory that has the directories sys and proc.
//
// If a file is missing or empty, the values that it would contain are unknown. This is not an
// error, because not every kernel has every file. Discover records contradictions between files in
// Machine.Notes. If a file cannot be read or parsed, Discover returns an error with the file's
// name. If it guessed a value instead, containers could be pinned to the wrong CPUs. Source of the
// file formats: https://docs.kernel.org/admin-guide/cputopology.html and
// https://docs.kernel.org/admin-guide/abi-stable.html (node).
func Discover(root fs.FS) (*topology.Machine, error) {
	m, err := discover(&reader{root: root})
	if err != nil {
		return nil, fmt.Errorf("discover topology: %w", err)
	}
	return m, nil
}

// discover reads the machine in an order in which each step needs only results of earlier steps.
func discover(r *reader) (*topology.Machine, error) {
	// 1. The CPUs, and which of them are online.
	all, online, err := r.presence()
	if err != nil {
		return nil, err
	}
	// 2. The NUMA nodes with their CPUs.
	nodes, err := r.nodes(online)
	if err != nil {
		return nil, err
	}
	// 3. The topology of each CPU.
	cpus, err := r.cpus(all, online, nodes)
	if err != nil {
		return nil, err
	}
	// 4. Properties of some CPUs and nodes.
	if err := r.isolation(cpus); err != nil {
		return nil, err
	}
	if err := r.kinds(cpus); err != nil {
		return nil, err
	}
	if err := r.gpuMemory(nodes); err != nil {
		return nil, err
	}
	if err := r.kernelReserves(nodes); err != nil {
		return nil, err
	}
	return &topology.Machine{CPUs: cpus, Nodes: nodes, Notes: r.notes}, nil
}
