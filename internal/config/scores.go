package config

import (
	"fmt"
	"time"

	"github.com/numalet/numalet/pkg/sched/usage"
)

// Decay returns how fast scores follow usage.
func (c Controller) Decay() (usage.Decay, error) {
	if c.HalfLife > 0 {
		return usage.HalfLife(time.Duration(c.HalfLife).Seconds())
	}
	return usage.Settle(c.Settle.Seconds())
}

// HalfLife is a duration, or 0 for none. Its text form is "none" or the duration,
// which has to be more than 0: nothing turns the decay off.
type HalfLife time.Duration

// MarshalText writes the text form.
func (h HalfLife) MarshalText() ([]byte, error) {
	if h == 0 {
		return []byte("none"), nil
	}
	return []byte(time.Duration(h).String()), nil
}

// UnmarshalText reads the text form.
func (h *HalfLife) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		*h = 0
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err == nil && d <= 0 {
		err = fmt.Errorf("half-life %s: want more than 0, such as 29h, or none", d)
	}
	*h = HalfLife(d)
	return err
}
