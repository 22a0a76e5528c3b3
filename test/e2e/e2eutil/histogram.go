package e2eutil

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Histogram has how often each latency occurred, in steps of 1 µs.
type Histogram map[time.Duration]int

// ParseCyclictest parses the output of cyclictest --histogram. It adds up the counts of all
// threads. An error means that there is no latency, or that a latency was too large for the
// histogram.
// Source: https://manpages.debian.org/bookworm/rt-tests/cyclictest.8.en.html
func ParseCyclictest(text string) (Histogram, error) {
	all := Histogram{}
	for line := range strings.Lines(text) {
		if overflows, ok := strings.CutPrefix(line, "# Histogram Overflows:"); ok && strings.Trim(overflows, " \t\n0") != "" {
			return nil, fmt.Errorf("the histogram of cyclictest is too small: %s latencies are larger", strings.TrimSpace(overflows))
		}
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(line, "#") {
			continue
		}
		micros, err := strconv.Atoi(fields[0])
		if err != nil {
			continue // a warning of cyclictest
		}
		for _, field := range fields[1:] {
			count, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("parse the line %q of cyclictest: %w", line, err)
			}
			all[time.Duration(micros)*time.Microsecond] += count
		}
	}
	if all.Count() == 0 {
		return nil, fmt.Errorf("cyclictest measured nothing: %q", text)
	}
	return all, nil
}

// Count returns the number of latencies.
func (h Histogram) Count() (n int) {
	for _, count := range h {
		n += count
	}
	return n
}

// Quantile returns the smallest latency that the given share of all latencies does not exceed. For
// example, Quantile(0.999) returns p99.9.
func (h Histogram) Quantile(share float64) time.Duration {
	left := int(share * float64(h.Count()))
	for _, latency := range slices.Sorted(maps.Keys(h)) {
		if left -= h[latency]; left < 0 {
			return latency
		}
	}
	return slices.Max(slices.Collect(maps.Keys(h)))
}
