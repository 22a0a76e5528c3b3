package fairshare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestTrackingError checks the percentages in the comment of Decay: how much a score differs from
// the usage after the usage has changed from 0 to 8. The time constant T is 10 s, and the score is
// computed each second.
func TestTrackingError(t *testing.T) {
	decay := newDecay(t, 10)
	score := 0.
	for second := 1; second <= 40; second++ {
		score = decay.Next(score, 8, 1)
		want, ok := map[int]float64{10: 37, 20: 14, 40: 2}[second]
		if lacks := 100 * (8 - score) / 8; ok && math.Round(lacks) != want {
			t.Errorf("after %d s the score lacks %.2f %%, want %v %%", second, lacks, want)
		}
	}
}

// TestSplitting checks that a score does not depend on how often it is computed while the usage is
// constant.
func TestSplitting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		checkSplit(t, math.Exp(r.Float64()*20-5), math.Exp(r.Float64()*20-5), 100*r.Float64(), 100*r.Float64(), 1+r.IntN(1000))
	}
}

func FuzzSplitting(f *testing.F) {
	f.Add(10., 1., 0., 8., 10)
	f.Add(DefaultTimeConstant, 7*86400., 3., 0.25, 10_080)
	f.Add(1e-3, 1e9, 1., 1e6, 3)
	f.Fuzz(func(t *testing.T, constant, seconds, score, used float64, parts int) {
		for _, x := range []float64{constant, seconds, score, used} {
			if !(x >= 0 && x <= 1e12) || constant < 1e-6 {
				t.Skip()
			}
		}
		checkSplit(t, constant, seconds, score, used, 1+int(uint(parts)%1000))
	})
}

func checkSplit(t *testing.T, constant, seconds, score, used float64, parts int) {
	t.Helper()
	decay := newDecay(t, constant)
	want, got := decay.Next(score, used, seconds), score
	for range parts {
		got = decay.Next(got, used, seconds/float64(parts))
	}
	if !near(want, got) {
		t.Errorf("T=%v, S=%v, g=%v: after %v s in %d parts the score is %v, at once %v", constant, score, used, seconds, parts, got, want)
	}
	if low, high := min(score, used), max(score, used); got < low*(1-1e-9) || got > high*(1+1e-9) {
		t.Errorf("score %v is not between %v and %v", got, low, high)
	}
}

func TestHalfLife(t *testing.T) {
	d, err := HalfLife(3600)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Next(16, 0, 2*3600); !near(4, got) {
		t.Errorf("after two half-lives 16 is %v, want 4", got)
	}
}

// TestNothingTurnsItOff checks that decay cannot be turned off: time constants, half-lives and
// weights that are not positive and finite are refused with an error that says which values are
// allowed.
func TestNothingTurnsItOff(t *testing.T) {
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name, do := range map[string]func() error{
			"time constant": func() error { _, err := NewDecay(x); return err },
			"half-life":     func() error { _, err := HalfLife(x); return err },
			"weight":        func() error { return New(newDecay(t, 1)).Weigh("ann", Weight(x)) },
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "more than 0") {
				t.Errorf("%s %v: error %v, want one that says what is wanted", name, x, err)
			}
		}
	}
}

func newDecay(t testing.TB, seconds float64) Decay {
	t.Helper()
	d, err := NewDecay(seconds)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The function `near` reports whether two scores differ by at most 1e-9. If a is greater than 1,
// they may differ by 1e-9 times a.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) }
