package health

import (
	"cmp"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/gpu"
)

// fault is one fault of a GPU or slice.
type fault struct {
	name   string
	detail string // the driver's error message, or ""
	remedy remedy
	last   time.Time // the time of the last report
}

func (f fault) String() string {
	if f.detail == "" {
		return f.name
	}
	return f.name + ": " + f.detail
}

// unit is what is known about the health of a GPU or slice.
type unit struct {
	probed bool // whether the GPU has answered a probe
	faults []fault
	advice string // what an administrator has to do, as the driver requested in the last probe that the GPU answered; "" for nothing
}

// add adds a fault. A fault with the same name is replaced.
func (u *unit) add(f fault) {
	for i := range u.faults {
		if u.faults[i].name == f.name {
			u.faults[i] = f
			return
		}
	}
	u.faults = append(u.faults, f)
}

// remove removes the faults for which the function given as `ended` returns true.
func (u *unit) remove(ended func(fault) bool) {
	var remaining []fault
	for _, f := range u.faults {
		if !ended(f) {
			remaining = append(remaining, f)
		}
	}
	u.faults = remaining
}

// health returns the state of the unit. The reason lists the faults in the order of
// their first report, and says what an administrator has to do.
func (u *unit) health() gpu.Health {
	var reasons []string
	worst := none
	for _, fault := range u.faults {
		reasons = append(reasons, fault.String())
		worst = max(worst, fault.remedy)
	}
	advice := cmp.Or(u.advice, worst.advice())
	if len(reasons) == 0 && u.advice != "" {
		reasons = []string{"the driver requests a recovery action"}
	}
	switch {
	case len(reasons) == 0 && !u.probed:
		return gpu.Health{}
	case len(reasons) == 0:
		return gpu.Health{State: gpu.Healthy}
	case advice == "":
		advice = "the fault clears when the driver reports the GPU as healthy"
	}
	return gpu.Health{State: gpu.Unhealthy, Reason: strings.Join(reasons, ", ") + "; " + advice}
}
