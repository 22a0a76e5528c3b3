// Package topology is the machine as Linux describes it: packages, dies, NUMA
// nodes, last-level caches, cores, SMT siblings, memory.
//
// It knows shapes and ids; it refuses to touch files (package topology/sysfs
// reads them) and to choose CPUs (package cpuset/pool does).
package topology
