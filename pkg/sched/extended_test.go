package sched_test

import (
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
)

type counts = map[string]int64

func TestExtendedOf(t *testing.T) {
	for name, tc := range map[string]struct {
		counts counts
		want   string
	}{
		"nil":     {nil, ""},
		"empty":   {counts{}, ""},
		"a zero":  {counts{"a": 0}, "a 0"},
		"by name": {counts{"nvidia.com/gpu": 8, "hugepages-1Gi": -1, "ephemeral-storage": 3}, "ephemeral-storage 3, hugepages-1Gi -1, nvidia.com/gpu 8"},
	} {
		t.Run(name, func(t *testing.T) {
			e := sched.ExtendedOf(tc.counts)
			if got := e.String(); got != tc.want {
				t.Errorf("ExtendedOf(%v) = %s, want %s", tc.counts, got, tc.want)
			}
			if len(tc.counts) == 0 && e != nil {
				t.Error("want nil where nothing is counted")
			}
			for name, want := range tc.counts {
				if got := e.Of(name); got != want {
					t.Errorf("Of(%s) = %d, want %d", name, got, want)
				}
			}
			if got := e.Of("none"); got != 0 {
				t.Errorf("Of what is not counted = %d, want 0", got)
			}
		})
	}
}

func TestExtendedSum(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b, plus, minus counts
	}{
		"nothing":               {},
		"of nothing":            {b: counts{"b": 2}, plus: counts{"b": 2}, minus: counts{"b": -2}},
		"nothing of":            {a: counts{"b": 2}, plus: counts{"b": 2}, minus: counts{"b": 2}},
		"the same":              {counts{"a": 1, "b": 5}, counts{"a": 1, "b": 2}, counts{"a": 2, "b": 7}, counts{"a": 0, "b": 3}},
		"one of several":        {counts{"a": 1, "b": 2, "c": 3}, counts{"b": 1}, counts{"a": 1, "b": 3, "c": 3}, counts{"a": 1, "b": 1, "c": 3}},
		"before, between":       {counts{"b": 2, "d": 4}, counts{"a": 1, "c": 3}, counts{"a": 1, "b": 2, "c": 3, "d": 4}, counts{"a": -1, "b": 2, "c": -3, "d": 4}},
		"after":                 {counts{"a": 1}, counts{"b": 1, "c": 1}, counts{"a": 1, "b": 1, "c": 1}, counts{"a": 1, "b": -1, "c": -1}},
		"more than there is":    {counts{"a": 1}, counts{"a": 3}, counts{"a": 4}, counts{"a": -2}},
		"a zero that is absent": {counts{"a": 1}, counts{"b": 0}, counts{"a": 1, "b": 0}, counts{"a": 1, "b": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := amounts(tc.a), amounts(tc.b)
			if diff := cmp.Diff(amounts(tc.plus), a.Plus(b)); diff != "" {
				t.Errorf("a plus b (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(amounts(tc.minus), a.Minus(b)); diff != "" {
				t.Errorf("a minus b (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]sched.Amounts{amounts(tc.a), amounts(tc.b)}, []sched.Amounts{a, b}); diff != "" {
				t.Errorf("a and b changed (-before +after):\n%s", diff)
			}
		})
	}
}

func amounts(c counts) sched.Amounts { return sched.Amounts{Extended: sched.ExtendedOf(c)} }

func TestExtendedEqual(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b counts
		want bool
	}{
		"nothing":          {nil, nil, true},
		"the same":         {counts{"a": 1, "b": 2}, counts{"b": 2, "a": 1}, true},
		"another count":    {counts{"a": 1}, counts{"a": 2}, false},
		"another name":     {counts{"a": 1}, counts{"b": 1}, false},
		"0 is not nothing": {counts{"a": 0}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := sched.Holding{Amounts: amounts(tc.a)}, sched.Holding{Amounts: amounts(tc.b)}
			if a.Equal(b) != tc.want || b.Equal(a) != tc.want {
				t.Errorf("%v equals %v: %v, want %v", tc.a, tc.b, !tc.want, tc.want)
			}
		})
	}
}

// TestExtendedTwin adds and subtracts random counts, and compares the results with those of a
// simple implementation with maps.
func TestExtendedTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	names := []string{"a", "b", "c", "example.com/nic", "example.com/nid"}
	all, twins := []sched.Amounts{{}}, []counts{{}}
	for range 20 {
		c := counts{}
		for _, name := range names {
			if r.IntN(3) == 0 {
				c[name] = int64(r.IntN(3))
			}
		}
		all, twins = append(all, amounts(c)), append(twins, c)
	}
	for range 20_000 {
		i, j, to := r.IntN(len(all)), r.IntN(len(all)), 1+r.IntN(len(all)-1)
		sum, twin, sign := all[i].Plus(all[j]), maps.Clone(twins[i]), int64(1)
		if r.IntN(2) == 0 {
			sum, sign = all[i].Minus(all[j]), -1
		}
		for name, count := range twins[j] {
			twin[name] = bounded(twin[name], sign*count)
		}
		if diff := cmp.Diff(twin, maps.Collect(sum.Extended.All())); diff != "" {
			t.Fatalf("%v and %d times %v (-twin +got):\n%s", twins[i], sign, twins[j], diff)
		}
		var listed []string
		for name := range sum.Extended.All() {
			listed = append(listed, name)
		}
		if !slices.Equal(listed, slices.Sorted(maps.Keys(twin))) {
			t.Fatalf("%v: want every name once, sorted", sum.Extended)
		}
		for _, name := range names {
			if got := sum.Extended.Of(name); got != twin[name] {
				t.Fatalf("%v.Of(%s) = %d, want %d", sum.Extended, name, got, twin[name])
			}
		}
		for k := range all {
			if got, want := sum.Extended.Equal(all[k].Extended), maps.Equal(twin, twins[k]); got != want {
				t.Fatalf("%v equals %v: %v, want %v", sum.Extended, all[k].Extended, got, want)
			}
		}
		if r.IntN(4) == 0 {
			all[to], twins[to] = sum, twin
		}
	}
	for k := range all {
		if diff := cmp.Diff(twins[k], maps.Collect(all[k].Extended.All())); diff != "" {
			t.Errorf("what was added or subtracted changed (-twin +got):\n%s", diff)
		}
	}
}

// bounded returns a + b, or the nearest int64 if the sum does not fit into an int64.
func bounded(a, b int64) int64 {
	total := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
	switch {
	case total.IsInt64():
		return total.Int64()
	case total.Sign() > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}

// TestExtendedShares checks two things. If an Amounts without Extended is added or subtracted,
// the Extended of the other Amounts must not be copied. Reading amounts must allocate no memory.
func TestExtendedShares(t *testing.T) {
	a, none := amounts(counts{"a": 1, "b": 2}), sched.Amounts{CPU: 1}
	for name, sum := range map[string]sched.Amounts{"plus": a.Plus(none), "minus": a.Minus(none)} {
		if &sum.Extended[0] != &a.Extended[0] {
			t.Errorf("%s: want a's Extended itself", name)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		for name, count := range a.Plus(none).Extended.All() {
			if a.Extended.Of(name) != count || !a.Extended.Equal(a.Extended) {
				t.Error(name)
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// TestExtendedNames checks that two values of the type Extended with the same resource share the
// string of its name, even if the garbage collector runs after the first one is made and before the
// second.
func TestExtendedNames(t *testing.T) {
	bring := func() sched.Extended { return sched.ExtendedOf(counts{strings.Clone("example.com/nic"): 1}) }
	first := bring()
	runtime.GC()
	runtime.GC()
	second := amounts(nil).Plus(sched.Amounts{Extended: bring()}).Extended
	if at(first) != at(second) {
		t.Error("a name is two strings")
	}
	runtime.KeepAlive(first)
}

// The function `at` returns the memory address of the first name in e.
func at(e sched.Extended) *byte {
	for name := range e.All() {
		return unsafe.StringData(name)
	}
	return nil
}
