package fairshare

import (
	"fmt"
	"math"
)

// DefaultSettle is the settling time, in seconds, after four of which, a week, a
// score is within 2 % of a usage that stays.
const DefaultSettle = 7 * 24 * 3600 / 4.

// Decay is how fast a score follows usage. With the settling time T,
//
//	S(t) = e^(−Δt/T) · S(t−Δt) + (1 − e^(−Δt/T)) · g
//
// where g is the usage over (t−Δt, t]. That is exact however long Δt is as long as
// g stays, so when scores are computed changes nothing. They are linear, too: what
// a tenant's score is is the sum of what each task alone would have made it. To add
// up samples of g, each decayed, was rejected: it depends on Δt, and a task that
// comes and goes between two samples is free. The zero Decay is not usable.
type Decay struct{ settle float64 }

// Settle returns the decay with a settling time, in seconds. What is not positive
// and finite is refused: nothing turns the decay off.
func Settle(seconds float64) (Decay, error) {
	if !positive(seconds) {
		return Decay{}, fmt.Errorf("settling time %v s: want more than 0, such as %v (the score then follows usage within a week)", seconds, DefaultSettle)
	}
	return Decay{seconds}, nil
}

// HalfLife returns the decay that halves the score of who uses nothing in so many
// seconds: T·ln 2.
func HalfLife(seconds float64) (Decay, error) {
	if !positive(seconds) {
		return Decay{}, fmt.Errorf("half-life %v s: want more than 0, such as %.0f (a settling time of %v s)", seconds, DefaultSettle*math.Ln2, DefaultSettle)
	}
	return Decay{seconds / math.Ln2}, nil
}

// Next returns what a score is some seconds, 0 or more, later, if so much is used
// meanwhile. The second factor is computed as −(e^(−Δt/T) − 1) at once, without
// which it would be rounded to nothing where Δt ≪ T.
func (d Decay) Next(score, used, seconds float64) float64 {
	x := -seconds / d.settle
	return math.Exp(x)*score - math.Expm1(x)*used
}

// positive reports whether x is a number more than 0 and not infinite.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
