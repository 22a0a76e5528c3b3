package fairshare

import (
	"fmt"
	"math"
)

// DefaultTimeConstant is the default time constant T in seconds. If a tenant with a score of 0
// starts to use a constant amount, its score differs from this amount by less than 2 % after the
// time 4T, which is a week.
const DefaultTimeConstant = 7 * 24 * 3600 / 4.

// Decay computes how a tenant's score S follows its usage g, the amount of resources that the
// tenant holds. With the time constant T,
//
//	S(t) = e^(−Δt/T) · S(t−Δt) + (1 − e^(−Δt/T)) · g
//
// where g is constant between t−Δt and t. Suppose that S equals g, and that g then jumps to another
// value and stays constant. The difference between S and g falls to 37 % of this jump after the
// time T, to 14 % after 2T and to 2 % after 4T.
//
// The formula is exact for every time Δt in which g is constant. So the score does not depend on
// how often it is computed. The formula is also linear: a tenant's score is the sum of the scores
// that the tenant would have with each of its tasks alone.
//
// An alternative was rejected: to take samples of g, and to add them so that older samples count
// less. Such a sum depends on the time between two samples, and a task that starts and ends between
// two samples is not charged at all.
//
// The zero Decay is not usable.
type Decay struct{ constant float64 }

// NewDecay returns the decay with a time constant T in seconds. It returns an error unless T is
// positive and finite. There is no value that turns decay off.
func NewDecay(seconds float64) (Decay, error) {
	if !positive(seconds) {
		return Decay{}, fmt.Errorf("time constant %v s: want more than 0, such as %v (the score then follows usage within a week)", seconds, DefaultTimeConstant)
	}
	return Decay{seconds}, nil
}

// HalfLife returns the decay with the given half-life in seconds. This is the time in which a
// tenant's score falls to half of its value if the tenant uses nothing. With the time constant T:
//
//	half-life = T · ln 2
func HalfLife(seconds float64) (Decay, error) {
	if !positive(seconds) {
		return Decay{}, fmt.Errorf("half-life %v s: want more than 0, such as %.0f (a time constant of %v s)", seconds, DefaultTimeConstant*math.Ln2, DefaultTimeConstant)
	}
	return Decay{seconds / math.Ln2}, nil
}

// Next returns a tenant's new score after the given number of seconds, which must be at least 0.
// The argument `score` is the tenant's score before these seconds. The argument `used` is the
// amount that the tenant holds during these seconds, which must be constant. With the time constant
// T and x = −seconds/T, Next computes
//
//	1 − e^x as −expm1(x)
//
// because the direct difference 1 − e^x is rounded to 0 if the number of seconds is much smaller
// than T.
func (d Decay) Next(score, used, seconds float64) float64 {
	x := -seconds / d.constant
	return math.Exp(x)*score - math.Expm1(x)*used
}

// positive reports whether x is greater than 0 and finite.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
