package main

import (
	"cmp"
	"slices"
	"time"
)

// medians returns one result for each round. If a round was repeated, each rate, the CPU time and
// the number of page faults in its result are medians. Each of these medians is computed on its
// own. The results of single repetitions differ by a tenth or more, because other programs also use
// the machine. The waiting times of the result are those of all repetitions, and its peak memory is
// the highest.
func (rs results) medians() (all results) {
	for _, r := range rs {
		if _, done := all.of(r.contender, r.load.name); !done {
			all = append(all, rs.repetitions(r).combined())
		}
	}
	return all
}

// repetitions returns the results of the same round as r.
func (rs results) repetitions(r result) (same results) {
	for _, other := range rs {
		if other.contender == r.contender && other.load.name == r.load.name {
			same = append(same, other)
		}
	}
	return same
}

// combined returns the result of several repetitions of one round (see the method `medians`).
func (rs results) combined() result {
	r := rs[0]
	r.rate = medianOf(rs, func(r result) float64 { return r.rate })
	r.told = medianOf(rs, func(r result) float64 { return r.told })
	r.cpu = medianOf(rs, func(r result) time.Duration { return r.cpu })
	r.faults = medianOf(rs, func(r result) int64 { return r.faults })
	r.bound = medianOf(rs, func(r result) int { return r.bound })
	for _, other := range rs[1:] {
		r.stopped = r.stopped || other.stopped
		r.peak = max(r.peak, other.peak)
		r.steady = slices.Concat(r.steady, other.steady)
	}
	return r
}

// medianOf returns the median of a value of the results. If two values are in the middle, it
// returns the higher one.
func medianOf[T cmp.Ordered](rs results, value func(result) T) T {
	var all []T
	for _, r := range rs {
		all = append(all, value(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
