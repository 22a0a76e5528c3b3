package fairness

import "time"

// meter integrates an amount over time, for example to GPU-seconds.
type meter struct {
	amount, sum float64
	at          time.Time
}

func (m *meter) reset(now time.Time) { m.sum, m.at = 0, now }

// add changes the amount from now on.
func (m *meter) add(by float64, now time.Time) {
	m.sum = m.area(now)
	m.at = now
	m.amount += by
}

// area returns the sum up to now.
func (m *meter) area(now time.Time) float64 { return m.sum + m.amount*now.Sub(m.at).Seconds() }
