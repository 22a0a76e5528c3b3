package config

import (
	"fmt"
	"time"

	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Decay returns how fast scores follow usage.
func (c Controller) Decay() (fairshare.Decay, error) {
	if c.HalfLife > 0 {
		return fairshare.HalfLife(time.Duration(c.HalfLife).Seconds())
	}
	return fairshare.Settle(c.ScoreTimeConstant.Seconds())
}

// Maybe is a duration, or 0 for none. Its text form is "none" or the duration, which
// has to be more than 0: no number turns something off by itself.
type Maybe time.Duration

// MarshalText writes the text form.
func (m Maybe) MarshalText() ([]byte, error) {
	if m == 0 {
		return []byte("none"), nil
	}
	return []byte(time.Duration(m).String()), nil
}

// UnmarshalText reads the text form.
func (m *Maybe) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		*m = 0
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s: want more than 0, or none", d)
	}
	*m = Maybe(d)
	return err
}
