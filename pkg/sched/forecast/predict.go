package forecast

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// futures is how many futures are simulated. P90 is the 19th start time in ascending order,
	// because 19 is the smallest number that is at least 90 % of 21.
	futures = 21
	// maxChecks limits how often one forecast may check whether a pod fits a node. A check takes
	// about 0.1 µs.
	maxChecks = 2_000_000
)

// Predict returns when Present.Pod will probably start. Calls with equal arguments give equal
// answers. Of two pods with equal requests in one queue, the pod whose turn comes later never gets
// an earlier time.
//
// Let W be the number of pods ahead in the queue, N the number of nodes, and R the number of
// running pods. First, Predict checks O(W·N) times whether a pod fits a node. Then it simulates the
// futures. Each future takes O((R+W)·W) such checks, and O(N+R) more for each reservation that the
// future makes. Predict gives up after maxChecks checks.
//
// An alternative was rejected: to simulate a single future in which each pod has the median run
// time. In reality, the first of many running pods ends long before the median, so such a forecast
// would be far too late.
func Predict(present Present, runs *Runs, seed uint64) Answer {
	switch {
	case present.Pod.Gang != nil:
		return Answer{Unknown: Gang}
	case present.Pod.Waits().Refuses():
		return Answer{Unknown: Held}
	}
	now := begin(present)
	switch started := now.serve(now.all()); {
	case now.checks <= 0:
		return Answer{Unknown: TooMuch}
	case started:
		return Answer{P50: present.Now, P90: present.Now}
	case runs.Empty():
		return Answer{Unknown: NoRunTimes}
	}
	budget := now.checks / futures
	var starts []time.Time
	for i := range uint64(futures) {
		f := now.future(present, draw{runs, rand.New(rand.NewPCG(seed, i))}, budget)
		started := f.until()
		if f.checks <= 0 {
			return Answer{Unknown: TooMuch}
		}
		if started {
			starts = append(starts, f.now)
		}
	}
	return answer(starts)
}

// answer returns the quantiles of the pod's start times over all futures. The argument `starts` has
// the start times in those futures in which the pod starts. Each future in which the pod does not
// start counts as a start time that is later than all of these.
func answer(starts []time.Time) Answer {
	slices.SortFunc(starts, time.Time.Compare)
	at := func(q float64) time.Time {
		if i := rank(q, futures); i < len(starts) {
			return starts[i]
		}
		return time.Time{}
	}
	a := Answer{P50: at(.5), P90: at(.9)}
	if a.P50.IsZero() {
		a.Unknown = Never
	}
	return a
}

// draw draws at random how long pods will run, from the recorded run times.
type draw struct {
	runs   *Runs
	random *rand.Rand
}

func (d draw) left(c Class, ran time.Duration) time.Duration {
	return d.runs.Left(c, ran, d.random.Float64())
}

// ends returns when a running pod ends. It draws the pod's run time at random. If r.Ends is set, the
// pod ends at this time at the latest.
func (d draw) ends(r Running, now time.Time) time.Time {
	at := now.Add(d.left(r.Class, now.Sub(r.Since)))
	if !r.Ends.IsZero() && r.Ends.Before(at) {
		at = r.Ends
	}
	if at.Before(now) {
		return now
	}
	return at
}
