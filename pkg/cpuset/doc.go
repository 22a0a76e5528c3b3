// Package cpuset is a set of logical CPUs and its list format.
//
// It has the set operations and the kernel's text formats ("0-3,8"). Package topology
// has the CPUs of a machine, and package cpuset/pool has the allocations.
//
//	free := cpuset.MustParse("0-7").Minus(cpuset.Of(0, 4))
//	fmt.Println(free, free.Len()) // 1-3,5-7 6
package cpuset
