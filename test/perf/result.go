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

// result is what came out of one round.
type result struct {
	contender, load string
	rate            float64 // bound pods a second
	cpu             time.Duration
	peak            int64           // bytes
	backlog         []time.Duration // from the start to each bind, ascending
	steady          []time.Duration // waits of pods that came one by one
	events          int
	began, told     time.Time // when it started, and when the last event was written
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

// toldRate returns how many pods a second were bound with their events written.
func (r result) toldRate() float64 { return float64(r.events) / r.told.Sub(r.began).Seconds() }

// quantile returns the q-th quantile, 0 ≤ q < 1, of what was measured; 0 of nothing.
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

// table shows the results as docs/benchmarks/logs/performance.md does.
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
		told := "–"
		if r.events > 0 {
			told = fmt.Sprintf("%.0f", r.toldRate())
		}
		fmt.Fprintf(w, "| %s\t| %s\t| %.0f\t| %s\t| %.2f\t| %d\t| %.2f / %.2f\t| %s\t|\n", r.load, r.contender, r.rate, told, ms(r.cpu), r.peak>>20,
			quantile(r.backlog, .5).Seconds(), quantile(r.backlog, .99).Seconds(), steady)
	}
	w.Flush()
	return b.String()
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// machine says where this was measured.
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
