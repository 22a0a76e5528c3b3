// Package topology models a machine as Linux describes it: packages, dies, NUMA nodes,
// last-level caches, cores, SMT siblings, and memory.
//
// It has types only: package topology/sysfs reads a machine, and package cpuset/pool
// chooses CPUs.
package topology
