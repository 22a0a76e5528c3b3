package e2eutil

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Timing has the durations of several runs of one measurement.
type Timing struct {
	What   string
	Shared int // how many containers with shared CPUs run on the node
	Took   []time.Duration
}

// median returns the median. If the number of durations is even, this is the larger of the two in
// the middle.
func (t Timing) median() time.Duration { return slices.Sorted(slices.Values(t.Took))[len(t.Took)/2] }

// Table writes timings as a Markdown table in milliseconds. Each timing has at least one run.
func Table(flavour string, timings []Timing) string {
	var b strings.Builder
	b.WriteString("| flavour | what | shared containers | runs | median, ms | maximum, ms |\n|---|---|---:|---:|---:|---:|\n")
	for _, t := range timings {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %s | %s |\n", flavour, t.What, t.Shared, len(t.Took), ms(t.median()), ms(slices.Max(t.Took)))
	}
	return b.String()
}

// ms formats a duration in milliseconds: with two decimals below 10 ms, with one below 100 ms, and
// with none from 100 ms on.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
