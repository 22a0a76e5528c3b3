package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/numalet/numalet/test/hollowcluster"
)

// result is the result of a round.
type result struct {
	contender        string
	load             load
	bound            int     // pods
	rate             float64 // bound pods per second
	stopped          bool    // at the limit, before all pods were bound
	cpu              time.Duration
	peak             int64           // bytes
	backlog          []time.Duration // times from the start to each binding, ascending
	steady           []time.Duration // waiting times of the pods that were created one by one
	events           int
	began, lastEvent time.Time // times of the start and of the last event
}

// fillRate computes the rate until the last binding, or until the contender was stopped.
func (r *result) fillRate(began, end time.Time, at map[string]time.Time) {
	for _, t := range at {
		r.backlog = append(r.backlog, t.Sub(began))
	}
	slices.Sort(r.backlog)
	r.began, r.bound = began, len(r.backlog)
	took := end.Sub(began)
	if !r.stopped {
		took = r.backlog[r.bound-1]
	}
	r.rate = float64(r.bound) / took.Seconds()
}

func (r *result) fillUsage(before, after hollowcluster.Usage) {
	r.cpu = (after.CPU - before.CPU) / time.Duration(max(1, r.bound))
	r.peak = after.Peak
}

// told returns the rate until the last event of a bound pod was written, or 0 without events.
func (r result) told() float64 {
	if r.events == 0 {
		return 0
	}
	return float64(r.events) / r.lastEvent.Sub(r.began).Seconds()
}

func (r result) String() string {
	text := fmt.Sprintf("%s, %s: %.0f pods/s, %.2f ms CPU a pod", r.contender, r.load.name, r.rate, ms(r.cpu))
	if r.stopped {
		text += fmt.Sprintf(", stopped after %d pods", r.bound)
	}
	return text
}

// results are the results of a run.
type results []result

// of returns a contender's result for a load, and false if it was not measured.
func (rs results) of(contender, load string) (result, bool) {
	i := slices.IndexFunc(rs, func(r result) bool { return r.contender == contender && r.load.name == load })
	if i < 0 {
		return result{}, false
	}
	return rs[i], true
}

// quantile returns the q-th quantile of the durations, 0 ≤ q < 1, or 0 if there are none.
func quantile(of []time.Duration, q float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[int(q*float64(len(sorted)))]
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
