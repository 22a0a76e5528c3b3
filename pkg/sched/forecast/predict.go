package forecast

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// futures is how many futures are simulated: enough for a P90, which is the 19th.
	futures = 21
	// maxChecks bounds the work of a forecast. A check whether a pod fits a node takes
	// about 0.1 µs.
	maxChecks = 2_000_000
)

// Predict returns when Present.Pod will probably start. Equal seeds give equal answers. Pods of
// one queue with equal requests get answers in the order of their turns.
//
// W pods are ahead, N nodes exist, and R pods run. First, Predict checks O(W·N) times whether
// a pod fits a node. Then it simulates some futures. Each of them takes O((R+W)·W) such checks,
// and O(N+R) more for each reservation in it. Predict gives up after maxChecks checks.
//
// Rejected: one future with the median of each run time. The first of many pods to end
// ends long before the median, so that the forecast is far too late.
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

// answer returns the quantiles over all futures; those without a start come last.
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

// draw draws how long pods run.
type draw struct {
	runs   *Runs
	random *rand.Rand
}

func (d draw) left(c Class, ran time.Duration) time.Duration {
	return d.runs.Left(c, ran, d.random.Float64())
}

// ends draws when a running pod ends.
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
