package hollowcluster

import (
	"testing"
	"time"
)

func TestParseUsage(t *testing.T) {
	const stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 1100 0 0 0 250 50 0 0 20 0 9 0 100 1 2"
	got, err := parseUsage(stat, "Name:\ta\nVmPeak:\t  900 kB\nVmHWM:\t  2048 kB\nVmRSS:\t 1 kB\n")
	if want := (Usage{CPU: 3 * time.Second, Faults: 1100, Peak: 2 << 20}); err != nil || got != want {
		t.Errorf("parsed %+v, %v, want %+v", got, err, want)
	}
	if _, err := parseUsage("7 (a) S 1", ""); err == nil {
		t.Error("half a line was parsed")
	}
}
