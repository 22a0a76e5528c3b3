package main

import "testing"

func TestQuantile(t *testing.T) {
	for name, tc := range map[string]struct {
		values []int
		q      float64
		want   int
	}{
		"nothing": {nil, .5, 0},
		"one":     {[]int{7}, .95, 7},
		"median":  {[]int{9, 1, 5}, .5, 5},
		"top":     {[]int{1, 2, 3, 4}, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			if got := quantile(tc.values, tc.q); got != tc.want {
				t.Errorf("quantile = %d, want %d", got, tc.want)
			}
		})
	}
}

func TestCommon(t *testing.T) {
	if got, want := common(map[string]int{"a": 1, "b": 3, "c": 2, "d": 3}, 1), "b 3, d 3, c 2"; got != want {
		t.Errorf("common = %q, want %q", got, want)
	}
}
