// Package cpuset is a set of logical CPUs and its list format.
//
// It knows bit arithmetic and the kernel's text form ("0-3,8"); it refuses to
// know which CPUs a machine has (package topology) or who holds them (package
// cpuset/pool).
//
//	free := cpuset.MustParse("0-7").Minus(cpuset.Of(0, 4))
//	fmt.Println(free, free.Len()) // 1-3,5-7 6
package cpuset
