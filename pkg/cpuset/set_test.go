package cpuset

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// naive is a simple implementation of Set with a map, for comparison.
type naive map[CPU]bool

func (n naive) slice() []CPU { return slices.Sorted(maps.Keys(n)) }

// filter returns the CPUs of a and b for which the function given as `keep` returns true.
func filter(a, b naive, keep func(inA, inB bool) bool) naive {
	out := naive{}
	for _, from := range []naive{a, b} {
		for c := range from {
			if keep(a[c], b[c]) {
				out[c] = true
			}
		}
	}
	return out
}

// random returns a random Set and a naive set with the same CPUs. Some sets are dense, and some
// have CPUs with high ids.
func random(r *rand.Rand) (Set, naive) {
	n := naive{}
	bound := []int{1, 64, 65, 130, 1024}[r.IntN(5)]
	for range r.IntN(80) {
		n[CPU(r.IntN(bound))] = true
	}
	return Of(n.slice()...), n
}

func TestAgainstTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		s, n := random(r)
		u, m := random(r)
		for name, tc := range map[string]struct {
			got  Set
			want naive
		}{
			"union":     {s.Union(u), filter(n, m, func(a, b bool) bool { return a || b })},
			"intersect": {s.Intersect(u), filter(n, m, func(a, b bool) bool { return a && b })},
			"minus":     {s.Minus(u), filter(n, m, func(a, b bool) bool { return a && !b })},
		} {
			if !slices.Equal(tc.got.Slice(), tc.want.slice()) || tc.got.Len() != len(tc.want) || !tc.got.Equal(Of(tc.want.slice()...)) {
				t.Fatalf("%s %s %s = %s, want %v", s, name, u, tc.got, tc.want.slice())
			}
		}
		both := filter(n, m, func(a, b bool) bool { return a && b })
		if s.Overlaps(u) != (len(both) > 0) || s.SubsetOf(u) != (len(both) == len(n)) || s.Equal(u) != maps.Equal(n, m) {
			t.Fatalf("%s, %s: overlaps %t, subset %t, equal %t", s, u, s.Overlaps(u), s.SubsetOf(u), s.Equal(u))
		}
		c := CPU(r.IntN(1100))
		first, ok := s.First()
		if s.Has(c) != n[c] || ok != (len(n) > 0) || ok && first != n.slice()[0] {
			t.Fatalf("%s: has %d %t, first %d %t", s, c, s.Has(c), first, ok)
		}
	}
}

func TestRange(t *testing.T) {
	for name, tc := range map[string]struct {
		first, last CPU
		want        Set
	}{
		"one":          {3, 3, Of(3)},
		"backwards":    {3, 2, Set{}},
		"across words": {63, 64, Of(63, 64)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Range(tc.first, tc.last)); diff != "" {
				t.Errorf("Range(%d, %d) (-want +got):\n%s", tc.first, tc.last, diff)
			}
		})
	}
}

// TestNegativeCPU checks that Of and Range panic for a negative CPU id, and that Has returns false
// for it.
func TestNegativeCPU(t *testing.T) {
	if Of(0, 63).Has(-1) {
		t.Error("a set has CPU -1")
	}
	for name, do := range map[string]func(){
		"Of":    func() { Of(2, -1) },
		"Range": func() { Range(-1, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("CPU -1 was taken")
				}
			}()
			do()
		})
	}
}

// TestImmutable checks that Union, Minus and Intersect do not change their operands.
func TestImmutable(t *testing.T) {
	a, b := Of(1, 70), Of(1, 2)
	a.Union(b)
	b.Union(a)
	a.Minus(b)
	a.Intersect(b)
	if !a.Equal(Of(1, 70)) || !b.Equal(Of(1, 2)) {
		t.Errorf("operands became %s and %s", a, b)
	}
}

// BenchmarkSet measures operations on sets of up to 512 CPUs. For comparison, it also measures the
// operation minus on maps.
func BenchmarkSet(b *testing.B) {
	s, u := Range(0, 511), Range(100, 300)
	n, m := naive{}, naive{}
	for c := range s.All() {
		n[c] = true
	}
	for c := range u.All() {
		m[c] = true
	}
	b.Run("minus", func(b *testing.B) {
		for b.Loop() {
			s.Minus(u)
		}
	})
	b.Run("minus-map", func(b *testing.B) {
		for b.Loop() {
			filter(n, m, func(a, b bool) bool { return a && !b })
		}
	})
	b.Run("len", func(b *testing.B) {
		for b.Loop() {
			s.Len()
		}
	})
	b.Run("string", func(b *testing.B) {
		for b.Loop() {
			_ = s.String()
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			_, _ = Parse("0-63,128-191,256,258,260-511")
		}
	})
}
