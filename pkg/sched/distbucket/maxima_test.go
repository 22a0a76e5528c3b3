package distbucket

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// amount returns a random amount with a random number of bits. One in four amounts is negative.
func amount(r *rand.Rand) int64 { return r.Int64() >> r.IntN(64) * []int64{1, 1, 1, -1}[r.IntN(4)] }

func TestLaneKeepsOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		a := amount(r)
		b := []int64{a - 1, a, amount(r)}[r.IntN(3)]
		if a >= b && lane(a) < lane(b) || lane(a)&^0x7fff != 0 {
			t.Fatalf("lane(%d) = %x, lane(%d) = %x", a, lane(a), b, lane(b))
		}
	}
	for v := range int64(exactLimit) {
		if lane(v) >= lane(v+1) {
			t.Errorf("%d and %d have one code", v, v+1)
		}
	}
	if lane(math.MaxInt64) != 0x7fff || lane(math.MinInt64) != 0 {
		t.Errorf("lanes of the extremes: %x, %x", lane(math.MaxInt64), lane(math.MinInt64))
	}
}

// TestCode checks the methods of the type `code`, a vector of rounded amounts in fields of 16 bits
// (lanes). These methods compare all lanes at once with 64-bit words. Their results must equal
// those of loops over the single lanes.
func TestCode(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 5000 {
		a, b := make(Vector, 8), make(Vector, 8)
		covers, high := true, make(Vector, 8)
		over, under := uint64(0), uint64(0)
		for d := range a {
			a[d] = amount(r)
			b[d] = []int64{a[d], a[d] / 2, amount(r)}[r.IntN(3)]
			la, lb := lane(a[d]), lane(b[d])
			covers = covers && la >= lb
			high[d] = max(a[d], b[d])
			over, under = over+max(la, lb)-lb, under+max(la, lb)-la
		}
		ca, cb := encode(a), encode(b)
		if got := ca.covers(&cb); got != covers {
			t.Fatalf("code of %v covers that of %v: %v", a, b, got)
		}
		if got, want := ca.max(&cb), encode(high); got != want {
			t.Fatalf("most of %v and %v is %x, want %x", a, b, got, want)
		}
		if got, want := ca.distance(&cb), min(over, under); got != want {
			t.Fatalf("%v and %v are %d from each other, want %d", a, b, got, want)
		}
	}
}

// TestMaxima checks maxima, which are three upper bounds for a set of codes (see the type `code`):
// each code that was added is covered by at least one of the bounds. It also checks that each bound
// that is not 0 is one of the added codes, if at most three codes were added.
func TestMaxima(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		var m maxima
		var all []code
		for range 1 + r.IntN(30) {
			all = append(all, encode(Vector{r.Int64N(9), r.Int64N(9), r.Int64N(9), r.Int64N(3)}))
			m.add(all[len(all)-1])
			for _, one := range m {
				if len(all) <= len(m) && one != (code{}) && !slices.Contains(all, one) {
					t.Fatalf("maxima of %x are %x", all, m)
				}
			}
		}
		for _, c := range all {
			if !m.covers(&c) {
				t.Fatalf("none of the maxima %x covers %x, which was added", m, c)
			}
		}
	}
}
