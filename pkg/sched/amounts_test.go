package sched_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/sched"
)

// TestAmountsDoNotOverflow checks that a sum or difference that does not fit an int64 becomes the
// nearest int64.
func TestAmountsDoNotOverflow(t *testing.T) {
	const most, least = math.MaxInt64, math.MinInt64
	of := func(n int64) sched.Amounts {
		return sched.Amounts{CPU: sched.MilliCPU(n), Memory: sched.Bytes(n), Pods: int(n), Extended: sched.ExtendedOf(map[string]int64{"x": n})}
	}
	for name, tc := range map[string]struct{ a, b, plus, minus int64 }{
		"small":      {5, 3, 8, 2},
		"much":       {most, 1, most, most - 1},
		"most twice": {most, most, most, 0},
		"little":     {least + 1, 1, least + 2, least},
		"less":       {least + 1, most, 0, least},
		"negative":   {-2, -3, -5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(of(tc.plus), of(tc.a).Plus(of(tc.b)), cmp.Comparer(sched.Extended.Equal)); diff != "" {
				t.Errorf("plus (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(of(tc.minus), of(tc.a).Minus(of(tc.b)), cmp.Comparer(sched.Extended.Equal)); diff != "" {
				t.Errorf("minus (-want +got):\n%s", diff)
			}
		})
	}
}
