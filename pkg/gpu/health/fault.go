package health

import (
	"cmp"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/gpu"
)

// fault of a GPU or slice.
type fault struct {
	name   string
	detail string // the message of the driver, or ""
	remedy remedy
	last   time.Time // the time of the last report
}

func (f fault) String() string {
	if f.detail == "" {
		return f.name
	}
	return f.name + ": " + f.detail
}

// unit is the state of a GPU or slice.
type unit struct {
	probed bool // a probe was answered
	faults []fault
	advice string // from the driver, in the GPU's last probe
}

// add adds a fault, or renews it.
func (u *unit) add(f fault) {
	for i := range u.faults {
		if u.faults[i].name == f.name {
			u.faults[i] = f
			return
		}
	}
	u.faults = append(u.faults, f)
}

// remove removes the faults for which ended is true.
func (u *unit) remove(ended func(fault) bool) {
	var remaining []fault
	for _, f := range u.faults {
		if !ended(f) {
			remaining = append(remaining, f)
		}
	}
	u.faults = remaining
}

// health returns the summary: the faults in the order of their first report, and
// what to do.
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
