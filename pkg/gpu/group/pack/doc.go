// Package pack packs demands into bins, each demand whole into one bin: bin
// packing with bins of several sizes, for small whole numbers.
//
// It knows sizes only; it refuses to know what they are of. It says whether it
// found a packing, proved that there is none, or gave up.
//
//	p := pack.Pack([]int{4, 4}, []int{2, 1, 2, 3}) // p.Bin is [1 0 1 0], p.Outcome is pack.All
package pack
