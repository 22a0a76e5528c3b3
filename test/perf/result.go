package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/numalet/numalet/test/hollowcluster"
)

// result is the result of a round.
type result struct {
	contender, load  string
	rate             float64 // bound pods per second
	cpu              time.Duration
	peak             int64           // bytes
	backlog          []time.Duration // times from the start to each binding, ascending
	steady           []time.Duration // waiting times of the pods that were created one by one
	events           int
	began, lastEvent time.Time // times of the start and of the last event
}

func (r *result) fill(began time.Time, at map[string]time.Time, before, after hollowcluster.Usage) {
	for _, t := range at {
		r.backlog = append(r.backlog, t.Sub(began))
	}
	r.began = began
	slices.Sort(r.backlog)
	n := len(r.backlog)
	r.rate = float64(n) / r.backlog[n-1].Seconds()
	r.cpu = (after.CPU - before.CPU) / time.Duration(n)
	r.peak = after.Peak
}

// eventRate returns the rate of pods that were bound and have their event.
func (r result) eventRate() float64 { return float64(r.events) / r.lastEvent.Sub(r.began).Seconds() }

// quantile returns the q-th quantile of the durations, 0 ≤ q < 1, or 0 if there are none.
func quantile(of []time.Duration, q float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[int(q*float64(len(sorted)))]
}

func (r result) String() string {
	return fmt.Sprintf("%s, %s: %.0f pods/s, %.2f ms CPU a pod", r.contender, r.load, r.rate, r.cpu.Seconds()*1000)
}

// table prints the results as in docs/benchmarks/logs/performance.md.
func table(results []result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| pods\t| who\t| bound pods/s\t| with events/s\t| ms CPU a pod\t| peak MiB\t| backlog p50 / p99 s\t| one by one p50 / p99 ms\t|")
	fmt.Fprintln(w, "|---\t|---\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|")
	for _, r := range results {
		steady := "–"
		if len(r.steady) > 0 {
			steady = fmt.Sprintf("%.1f / %.1f", ms(quantile(r.steady, .5)), ms(quantile(r.steady, .99)))
		}
		events := "–"
		if r.events > 0 {
			events = fmt.Sprintf("%.0f", r.eventRate())
		}
		fmt.Fprintf(w, "| %s\t| %s\t| %.0f\t| %s\t| %.2f\t| %d\t| %.2f / %.2f\t| %s\t|\n", r.load, r.contender, r.rate, events, ms(r.cpu), r.peak>>20,
			quantile(r.backlog, .5).Seconds(), quantile(r.backlog, .99).Seconds(), steady)
	}
	w.Flush()
	return b.String()
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// machine describes the machine of the measurement.
func machine() string {
	model := "unknown CPU"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, after, ok := strings.Cut(string(info), "model name"); ok {
			line, _, _ := strings.Cut(after, "\n")
			model = strings.TrimLeft(line, "\t :")
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	return fmt.Sprintf("%d CPUs, %s; load average at the end %s", runtime.NumCPU(), model, strings.Join(strings.Fields(string(load))[:3], ", "))
}
