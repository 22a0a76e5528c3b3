package bucket

import (
	"cmp"
	"math"
	"math/bits"
	"strings"
)

// byZ orders nodes along a Z-order curve through the space of amounts, so that neighbours in the tree are neighbours in every dimension and a
// block's maxima say much about each of its entries. Amounts are taken on a logarithmic scale, the bits of a float: there one dimension's
// bytes and another's handful of GPUs weigh alike.
//
// The bits need no interleaving: the dimension decides in which the highest bit differs (Chan, "Closest-point problems simplified on the
// RAM", SODA 2002).
func byZ(a, b *entry) int {
	at, highest := 0, 0
	for d, v := range a.z {
		if differs := bits.Len32(v ^ b.z[d]); differs > highest {
			at, highest = d, differs
		}
	}
	return cmp.Or(cmp.Compare(a.z[at], b.z[at]), strings.Compare(a.Name, b.Name))
}

// zcode returns the place of amounts on the scales of byZ.
func zcode(v Vector) []uint32 {
	z := make([]uint32, len(v))
	for d, amount := range v {
		z[d] = math.Float32bits(float32(max(amount, 0)))
	}
	return z
}
