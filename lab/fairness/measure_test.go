package fairness

import (
	"testing"
	"time"
)

func TestJain(t *testing.T) {
	for name, tc := range map[string]struct {
		amounts []float64
		want    float64
	}{
		"nobody":            {nil, 1},
		"nobody has any":    {[]float64{0, 0}, 1},
		"all have the same": {[]float64{3, 3, 3}, 1},
		"one has all":       {[]float64{0, 5, 0, 0}, 0.25},
		"one has twice":     {[]float64{1, 2}, 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Jain(tc.amounts); got != tc.want {
				t.Errorf("Jain(%v) = %v, want %v", tc.amounts, got, tc.want)
			}
		})
	}
}

func TestQuantile(t *testing.T) {
	for name, tc := range map[string]struct {
		waits Waits
		q     float64
		want  time.Duration
	}{
		"of none":                 {nil, .5, 0},
		"the least":               {Waits{3, 1, 2}, 0, 1},
		"the greatest":            {Waits{3, 1, 2}, 1, 3},
		"half of two":             {Waits{2, 1}, .5, 1},
		"half of three":           {Waits{3, 1, 2}, .5, 2},
		"nearly all of a few":     {Waits{4, 3, 1, 2}, .99, 4},
		"three quarters of four":  {Waits{4, 3, 1, 2}, .75, 3},
		"a little more than that": {Waits{4, 3, 1, 2}, .76, 4},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.waits.Quantile(tc.q); got != tc.want {
				t.Errorf("Quantile(%v) = %v, want %v", tc.q, got, tc.want)
			}
		})
	}
}
