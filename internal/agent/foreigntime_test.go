package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestUndisturbed(t *testing.T) {
	many := make([]string, maxListed+2)
	for i := range many {
		many[i] = fmt.Sprintf("ns/p%d/main", i)
	}
	for name, tc := range map[string]struct {
		noisy   []string
		percent float64
		want    string // status, reason and a part of the message of the condition
	}{
		"none":        {nil, 5, "True BelowThreshold others used less than 5% of the time of each container's exclusive CPUs within 5m0s"},
		"some":        {[]string{"ns/p/main", "ns/q/main"}, 5, "False ForeignTime ns/p/main, ns/q/main; see the events"},
		"many":        {many, 5, "False ForeignTime ns/p7/main, and 2 more; see"},
		"not checked": {nil, 0, "True NotChecked --foreign-time-threshold is 0"},
	} {
		c := undisturbed(tc.noisy, tc.percent, 5*time.Minute)
		status, rest, _ := strings.Cut(tc.want, " ")
		reason, message, _ := strings.Cut(rest, " ")
		if string(c.Status) != status || c.Reason != reason || !strings.Contains(c.Message, message) {
			t.Errorf("%s: %s %s %q, want %q", name, c.Status, c.Reason, c.Message, tc.want)
		}
	}
}
