package bucket

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// amount returns small and large amounts alike.
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
	for v := range int64(1023) {
		if lane(v) >= lane(v+1) {
			t.Errorf("%d and %d have one code", v, v+1)
		}
	}
	if lane(math.MaxInt64) != 0x7fff || lane(math.MinInt64) != 0 {
		t.Errorf("lanes of the extremes: %x, %x", lane(math.MaxInt64), lane(math.MinInt64))
	}
}

// TestCode compares what words do at once with what a loop over lanes does, and the key with the interleaved bits.
func TestCode(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 5000 {
		a, b := make(Vector, 8), make(Vector, 8)
		covers, low, high := true, make(Vector, 8), make(Vector, 8)
		for d := range a {
			a[d] = amount(r)
			b[d] = []int64{a[d], a[d] / 2, amount(r)}[r.IntN(3)]
			covers = covers && lane(a[d]) >= lane(b[d])
			low[d], high[d] = min(a[d], b[d]), max(a[d], b[d])
		}
		ca, cb := encode(a), encode(b)
		if got := ca.covers(&cb); got != covers {
			t.Fatalf("code of %v covers that of %v: %v", a, b, got)
		}
		got := box{ca, ca}
		got.extend(&box{cb, cb})
		if want := (box{encode(low), encode(high)}); got != want {
			t.Fatalf("box of %v and %v is %x, want %x", a, b, got, want)
		}
		dims := 1 + r.IntN(8)
		if got, want := packZ(ca, dims), interleaved(ca, dims); got != want {
			t.Fatalf("Z-order key of %d lanes of %x is %x, want %x", dims, ca, got, want)
		}
	}
}

// interleaved returns the bits of the first lanes in turn, the highest ones first, as a fraction of 64 bits.
func interleaved(c code, dims int) key {
	text := ""
	for bit := 14; bit >= 0; bit-- {
		for d := range dims {
			text += fmt.Sprint(c[d/lanes] >> (d%lanes*16 + bit) & 1)
		}
	}
	z, _ := strconv.ParseUint((text + strings.Repeat("0", 64))[:64], 2, 64)
	return key(z)
}
