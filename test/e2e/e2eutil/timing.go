package e2eutil

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Timing is how long the runs of one thing took.
type Timing struct {
	What   string
	Shared int // containers on the node
	Took   []time.Duration
}

// median returns the middle one, the upper of two.
func (t Timing) median() time.Duration { return slices.Sorted(slices.Values(t.Took))[len(t.Took)/2] }

// Table writes timings of a machine in Markdown, in milliseconds. Each has a run.
func Table(flavour string, timings []Timing) string {
	var b strings.Builder
	b.WriteString("| flavour | what | shared containers | runs | median, ms | maximum, ms |\n|---|---|---:|---:|---:|---:|\n")
	for _, t := range timings {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %s | %s |\n", flavour, t.What, t.Shared, len(t.Took), ms(t.median()), ms(slices.Max(t.Took)))
	}
	return b.String()
}

// ms writes milliseconds with three digits, or as many as come before the point.
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
