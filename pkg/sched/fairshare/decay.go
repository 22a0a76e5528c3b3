package fairshare

import (
	"fmt"
	"math"
)

// DefaultTimeConstant is the default time constant T in seconds. After 4T, which is a week, a score is within
// 2 % of a constant usage.
const DefaultTimeConstant = 7 * 24 * 3600 / 4.

// Decay is how fast a score S follows usage g. With the time constant T,
//
//	S(t) = e^(−Δt/T) · S(t−Δt) + (1 − e^(−Δt/T)) · g
//
// where g is the amount held over (t−Δt, t]. After a step in g, the error is 37 % after T, 14 % after 2T
// and 2 % after 4T.
//
// The formula is exact for every Δt over which g is constant, so the score does not depend on when it is
// computed. It is also linear: a tenant's score is the sum of the scores that its tasks would have alone.
//
// Adding up decayed samples of g was rejected: the sum depends on Δt, and a task that comes and goes
// between two samples is free.
//
// The zero Decay is not usable.
type Decay struct{ constant float64 }

// NewDecay returns the decay with time constant T in seconds. It returns an error unless T is positive and
// finite: decay cannot be turned off.
func NewDecay(seconds float64) (Decay, error) {
	if !positive(seconds) {
		return Decay{}, fmt.Errorf("time constant %v s: want more than 0, such as %v (the score then follows usage within a week)", seconds, DefaultTimeConstant)
	}
	return Decay{seconds}, nil
}

// HalfLife returns the decay that halves an unused score in this many seconds:
//
//	half-life = T · ln 2
func HalfLife(seconds float64) (Decay, error) {
	if !positive(seconds) {
		return Decay{}, fmt.Errorf("half-life %v s: want more than 0, such as %.0f (a time constant of %v s)", seconds, DefaultTimeConstant*math.Ln2, DefaultTimeConstant)
	}
	return Decay{seconds / math.Ln2}, nil
}

// Next returns the score after some seconds, at least 0, with a constant usage. It computes
//
//	1 − e^x as −expm1(x)
//
// because the difference rounds to 0 where Δt ≪ T.
func (d Decay) Next(score, used, seconds float64) float64 {
	x := -seconds / d.constant
	return math.Exp(x)*score - math.Expm1(x)*used
}

// positive reports whether x is greater than 0 and finite.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
