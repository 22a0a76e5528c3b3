package config

import (
	"fmt"
	"time"

	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Decay returns how fast tenants' scores decay. HalfLife determines this if it is set,
// and ScoreTimeConstant otherwise.
func (c Controller) Decay() (fairshare.Decay, error) {
	if c.HalfLife > 0 {
		return fairshare.HalfLife(time.Duration(c.HalfLife).Seconds())
	}
	return fairshare.NewDecay(c.ScoreTimeConstant.Seconds())
}

// Maybe is a duration that can be absent. The value 0 means that it is absent. The text
// form is "none" or a positive duration. In a setting, "none" disables the feature that
// needs the duration. "0s" is an error: it does not disable the feature.
type Maybe time.Duration

// MarshalText returns the text form.
func (m Maybe) MarshalText() ([]byte, error) {
	if m == 0 {
		return []byte("none"), nil
	}
	return []byte(time.Duration(m).String()), nil
}

// UnmarshalText parses the text form.
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
