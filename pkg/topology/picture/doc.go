// Package picture draws a machine, as text for the terminal or as SVG.
//
// Packages, dies, NUMA nodes, caches and cores nest differently between machines: a NUMA node may
// span packages, and a cache may span NUMA nodes. Lines with CPUs are at most 80 characters wide.
// The text has no colours, unless the caller provides a function that adds them (Use.Paint).
//
//	package 0
//	├─ NUMA 0  15.6 GiB · GPUs 0, 1 · cache 0
//	│    [0 8] [1 9]
//	└─ NUMA 1  15.6 GiB · cache 2
//	     [2 10] [3 11]
package picture
