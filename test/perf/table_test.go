package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sample returns a result with all values that a table shows.
func sample(contender string, l load, rate float64) result {
	return result{
		contender: contender, load: l, bound: 100, rate: rate, cpu: time.Millisecond / 2, faults: 7, peak: 100 << 20, steady: []time.Duration{time.Millisecond, 9 * time.Millisecond},
		told: rate / 2,
	}
}

func TestTables(t *testing.T) {
	plain := emptyLoads()[0]
	o := options{Fill: fills{50}, Waiting: 30}
	half, crowded := loads(o)[0], loads(o)[1]
	slow := sample(kubeName, crowded, 2.5)
	slow.stopped, slow.steady = true, nil
	for name, tc := range map[string]struct {
		rs   results
		o    options
		want []string
	}{
		"empty": {results{sample(floorName, plain, 400), sample(kubeName, plain, 100), sample(ourName, plain, 300)}, options{}, []string{
			"plain floor 400 4.00 200 4.00 1.00 0.50 7 100 9.0 / 9.0",
			"plain kube-scheduler 100 1.00 50 1.00 0.25 0.50 7 100 9.0 / 9.0",
			"plain numalet 300 3.00 150 3.00 0.75 0.50 7 100 9.0 / 9.0",
		}},
		"busy": {results{sample(kubeName, half, 100), slow, sample(ourName, half, 300), sample(ourName, crowded, 250)}, o, []string{
			"50 % full kube-scheduler 100 1.00 2.5 (stopped after 100) 0.03 1.00 9.0 / 9.0 –",
			"50 % full numalet 300 3.00 250 0.83 100.00 9.0 / 9.0 9.0 / 9.0",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for line := range strings.Lines(tc.rs.table(tc.o)) {
				got = append(got, strings.Join(strings.Fields(strings.ReplaceAll(line, "|", " ")), " "))
			}
			if diff := cmp.Diff(tc.want, got[2:]); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBounds checks that a quotient beyond its bound is an error. It also checks that a bound for
// values that were not measured is named, but is no error.
func TestBounds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bounds.yaml")
	const text = `
- {load: plain, measure: bound, of: numalet, to: kube-scheduler, min: 3}
- {load: plain, measure: told, of: numalet, to: floor, min: 0.8}
- {load: plain, measure: cpu, of: numalet, to: floor, max: 1.1}
- {load: gpu, measure: cpu, of: numalet, to: floor, max: 1.1}
- {load: "95 % full", measure: bound, of: numalet, to: numalet, toLoad: plain, min: 0.9}
- {load: "95 % full", measure: p99, of: numalet, to: numalet, toLoad: plain, max: 2}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := emptyLoads()[0]
	full := load{name: "95 % full"}
	rs := results{sample(floorName, plain, 400), sample(kubeName, plain, 100), sample(ourName, plain, 300), sample(ourName, full, 270)}
	var out bytes.Buffer
	err := check(&out, file, rs)
	const want = `
plain pods, bound of numalet : kube-scheduler = 3.00
plain pods, told of numalet : floor = 0.75, want at least 0.8
plain pods, cpu of numalet : floor = 1.00
gpu pods, cpu of numalet : floor: not measured
95 % full pods, bound of numalet : numalet with plain pods = 0.90
95 % full pods, p99 of numalet : numalet with plain pods = 1.00
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if err == nil || err.Error() != "plain pods, told of numalet : floor = 0.75, want at least 0.8" {
		t.Errorf("error %v", err)
	}
}

// TestStopped checks the rate of a contender that was stopped. The rate is the number of bound pods
// divided by the time until the contender was stopped, not by the time until its last binding.
func TestStopped(t *testing.T) {
	began := time.Unix(0, 0)
	at := map[string]time.Time{"a": began.Add(time.Second), "b": began.Add(2 * time.Second)}
	for stopped, want := range map[bool]float64{false: 1, true: 0.2} {
		r := result{stopped: stopped}
		if r.fillRate(began, began.Add(10*time.Second), at); r.rate != want {
			t.Errorf("stopped %v: %v pods/s, want %v", stopped, r.rate, want)
		}
	}
}
