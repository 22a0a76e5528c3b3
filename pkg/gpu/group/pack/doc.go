// Package pack solves bin packing: it assigns each demand to one bin. Bins may have
// different sizes. Sizes are small integers.
//
// The result says whether it is a complete packing, whether none exists, or whether the
// search was given up.
//
//	p := pack.Pack([]int{4, 4}, []int{2, 1, 2, 3}) // p.Bin is [1 0 1 0], p.Outcome is pack.All
package pack
