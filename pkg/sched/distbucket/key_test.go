package distbucket

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPackCoord checks that keys have the order of the coordinates, and that no two coordinates
// have the same key if packCoord says that the key is exact.
func TestPackCoord(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	number := func() int64 {
		some := []int64{-1, 0, 1, 2, 1023, 1024, 1<<58 - 1, 1 << 58, 1 << 62, math.MaxInt64, math.MinInt64, amount(r), r.Int64N(4)}
		return some[r.IntN(len(some))]
	}
	for range 200_000 {
		x := make([]int64, 1+r.IntN(6))
		for d := range x {
			x[d] = number()
		}
		y := slices.Clone(x)
		y[r.IntN(len(y))] = number()
		kx, _, whole := packCoord(x)
		ky, _, _ := packCoord(y)
		if want := slices.Compare(x, y); kx != ky && cmp.Compare(kx, ky) != want || kx == ky && whole && want != 0 {
			t.Fatalf("keys of %v and %v: %x (whole: %t) and %x", x, y, kx, whole, ky)
		}
	}
}
