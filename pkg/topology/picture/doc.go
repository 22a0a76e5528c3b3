// Package picture draws a machine for the terminal.
//
// It knows how packages, dies, NUMA nodes, caches and cores may nest, which is
// not the same on every machine (a NUMA node may span packages, a cache may
// span NUMA nodes); it refuses colours and to ask how wide the terminal is.
//
//	package 0
//	├─ NUMA 0  15.6 GiB · GPUs 0, 1 · cache 0
//	│    [0 8] [1 9]
//	└─ NUMA 1  15.6 GiB · cache 2
//	     [2 10] [3 11]
package picture
