package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/numalet/numalet/test/hollowcluster"
)

// result is the result of a round: one contender with one load.
type result struct {
	contender string
	load      load
	bound     int     // number of bound pods
	rate      float64 // bound pods per second
	stopped   bool    // whether the time limit passed before all pods were bound
	cpu       time.Duration
	faults    int64           // page faults for each bound pod
	peak      int64           // bytes
	backlog   []time.Duration // times from the start to each binding, ascending
	steady    []time.Duration // waiting times of the pods that were created one by one
	told      float64         // events per second until the last event was written; 0 if there are no events
}

// fillRate computes how many pods per second were bound. The map in the parameter `at` has the time
// of each binding. The rate is the number of bindings, divided by the time from the start (`began`)
// to the last binding. If the time limit passed before all pods were bound (r.stopped), the time
// from `began` to `end` is used instead.
func (r *result) fillRate(began, end time.Time, at map[string]time.Time) {
	for _, t := range at {
		r.backlog = append(r.backlog, t.Sub(began))
	}
	slices.Sort(r.backlog)
	r.bound = len(r.backlog)
	took := end.Sub(began)
	if !r.stopped {
		took = r.backlog[r.bound-1]
	}
	r.rate = float64(r.bound) / took.Seconds()
}

func (r *result) fillUsage(before, after hollowcluster.Usage) {
	pods := max(1, r.bound)
	r.cpu = (after.CPU - before.CPU) / time.Duration(pods)
	r.faults = (after.Faults - before.Faults) / int64(pods)
	r.peak = after.Peak
}

// fillTold computes how many events per second were written from the start (`began`) until the last
// event.
func (r *result) fillTold(began, last time.Time, events int) {
	if events > 0 {
		r.told = float64(events) / last.Sub(began).Seconds()
	}
}

func (r result) String() string {
	text := fmt.Sprintf("%s, %s: %.0f pods/s, %.2f ms CPU and %d page faults a pod", r.contender, r.load.name, r.rate, ms(r.cpu), r.faults)
	if r.stopped {
		text += fmt.Sprintf(", stopped after %d pods", r.bound)
	}
	return text
}

// results are the results of all rounds of a run.
type results []result

// The method `of` returns a contender's result for a load, and false if it was not measured.
func (rs results) of(contender, load string) (result, bool) {
	i := slices.IndexFunc(rs, func(r result) bool { return r.contender == contender && r.load.name == load })
	if i < 0 {
		return result{}, false
	}
	return rs[i], true
}

// quantile returns the q-quantile of the durations, or 0 if there are none. q must be at least 0
// and less than 1.
func quantile(of []time.Duration, q float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[int(q*float64(len(sorted)))]
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
