package sysfs

import (
	"fmt"
	"io/fs"

	"github.com/numalet/numalet/pkg/topology"
)

// Discover reads the machine from a root that holds sys and proc.
//
// A fact whose file is missing or empty is Unknown, for kernels differ in what
// they tell. Files that contradict each other end in Machine.Notes. A file that
// cannot be read or understood is an error that names it: a guess would pin
// containers to the wrong CPUs.
// Source of the file formats:
// https://docs.kernel.org/admin-guide/cputopology.html and
// https://docs.kernel.org/admin-guide/abi-stable.html (node).
func Discover(root fs.FS) (*topology.Machine, error) {
	m, err := discover(&reader{root: root})
	if err != nil {
		return nil, fmt.Errorf("discover topology: %w", err)
	}
	return m, nil
}

// discover reads in the order in which one fact needs another.
func discover(r *reader) (*topology.Machine, error) {
	// 1. Which CPUs there are, and which run.
	all, online, err := r.presence()
	if err != nil {
		return nil, err
	}
	// 2. The NUMA nodes, which claim CPUs.
	nodes, err := r.nodes(online)
	if err != nil {
		return nil, err
	}
	// 3. What every CPU says of itself.
	cpus, err := r.cpus(all, online, nodes)
	if err != nil {
		return nil, err
	}
	// 4. What the machine says of some of its CPUs and nodes.
	if err := r.isolation(cpus); err != nil {
		return nil, err
	}
	if err := r.kinds(cpus); err != nil {
		return nil, err
	}
	if err := r.gpuMemory(nodes); err != nil {
		return nil, err
	}
	return &topology.Machine{CPUs: cpus, Nodes: nodes, Notes: r.notes}, nil
}
