package health

import (
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/gpu"
)

// fault is one thing that is wrong with a card or slice.
type fault struct {
	name   string
	detail string // what the driver says of it, "" for nothing
	cure   cure
	last   time.Time // when it was last reported
}

func (f fault) String() string {
	if f.detail == "" {
		return f.name
	}
	return f.name + ": " + f.detail
}

// unit is what is known of a card or slice.
type unit struct {
	probed bool // an answer was had once
	faults []fault
	advice string // the driver's, of the card's last probe
}

// note adds a fault, or renews it.
func (u *unit) note(f fault) {
	for i := range u.faults {
		if u.faults[i].name == f.name {
			u.faults[i] = f
			return
		}
	}
	u.faults = append(u.faults, f)
}

// end drops the faults for which done.
func (u *unit) end(done func(fault) bool) {
	var kept []fault
	for _, f := range u.faults {
		if !done(f) {
			kept = append(kept, f)
		}
	}
	u.faults = kept
}

// health sums up: the faults in the order in which they came, and what to do.
func (u *unit) health() gpu.Health {
	var reasons []string
	advice := u.advice
	for _, f := range u.faults {
		reasons = append(reasons, f.String())
		if advice == "" && f.cure == reset {
			advice = ResetGPU.advice()
		}
	}
	if len(reasons) == 0 && u.advice != "" {
		reasons = []string{"the driver asks for a repair"}
	}
	switch {
	case len(reasons) == 0 && !u.probed:
		return gpu.Health{}
	case len(reasons) == 0:
		return gpu.Health{State: gpu.Healthy}
	case advice == "":
		advice = "it is well again once the driver finds it so"
	}
	return gpu.Health{State: gpu.Unhealthy, Reason: strings.Join(reasons, ", ") + "; " + advice}
}
