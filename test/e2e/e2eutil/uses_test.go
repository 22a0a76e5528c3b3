package e2eutil

import (
	"testing"
	"time"
)

func TestUsedTwice(t *testing.T) {
	use := func(device, pod string, from, to int64) Use {
		return Use{Device: device, Pod: pod, From: time.Unix(from, 0), To: time.Unix(to, 0)}
	}
	for name, tc := range map[string]struct {
		uses []Use
		want int
	}{
		"one after the other":   {[]Use{use("x", "b", 5, 9), use("x", "a", 1, 5)}, 0},
		"beside each other":     {[]Use{use("x", "a", 1, 5), use("y", "b", 1, 5)}, 0},
		"within a second":       {[]Use{use("x", "a", 5, 5), use("x", "b", 5, 9)}, 0},
		"overlap":               {[]Use{use("x", "a", 1, 5), use("x", "b", 4, 9)}, 1},
		"one within the other":  {[]Use{use("x", "a", 1, 9), use("x", "b", 2, 3), use("x", "c", 8, 12)}, 2},
		"the same time exactly": {[]Use{use("x", "a", 1, 9), use("x", "b", 1, 9)}, 1},
	} {
		if got := UsedTwice(tc.uses); len(got) != tc.want {
			t.Errorf("%s: %q, want %d", name, got, tc.want)
		}
	}
}
