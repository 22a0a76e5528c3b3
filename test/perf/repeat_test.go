package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMedians checks that the repetitions of each round become one result, and that these results
// are in the order of the rounds.
func TestMedians(t *testing.T) {
	plain, gpu := emptyLoads()[0], emptyLoads()[1]
	of := func(contender string, l load, rate, told float64, cpu time.Duration, peak int64, waited time.Duration) result {
		return result{contender: contender, load: l, rate: rate, told: told, cpu: cpu, faults: 2 * int64(cpu), peak: peak, steady: []time.Duration{waited}}
	}
	rs := results{
		of(ourName, plain, 300, 90, 5, 10, 1), of(ourName, gpu, 30, 9, 50, 100, 2), of(kubeName, plain, 8, 8, 8, 8, 8),
		of(ourName, plain, 100, 80, 7, 30, 3), of(ourName, gpu, 10, 8, 70, 300, 4), of(kubeName, plain, 9, 9, 9, 9, 9),
		of(ourName, plain, 200, 70, 6, 20, 5), of(ourName, gpu, 20, 7, 60, 200, 6), of(kubeName, plain, 7, 7, 7, 7, 7),
	}
	waited := func(all ...time.Duration) []time.Duration { return all }
	want := results{
		{contender: ourName, load: plain, rate: 200, told: 80, cpu: 6, faults: 12, peak: 30, steady: waited(1, 3, 5)},
		{contender: ourName, load: gpu, rate: 20, told: 8, cpu: 60, faults: 120, peak: 300, steady: waited(2, 4, 6)},
		{contender: kubeName, load: plain, rate: 8, told: 8, cpu: 8, faults: 16, peak: 9, steady: waited(8, 9, 7)},
	}
	if diff := cmp.Diff(want, rs.medians(), cmp.AllowUnexported(result{}), cmp.Comparer(func(a, b load) bool { return a.name == b.name })); diff != "" {
		t.Errorf("medians (-want +got):\n%s", diff)
	}
}
