package fairshare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestChart draws a chart of how a score follows the usage, with the time constant T = 42
// h, and compares the chart with testdata/chart.txt.
func TestChart(t *testing.T) {
	scenario.Golden(t, "testdata/chart.txt", draw(New(newDecay(t, DefaultTimeConstant))))
}

// draw draws a chart of the usage and the score of ann, who uses GPUs for three weeks. The
// chart has a line for every twelve hours.
func draw(b *Book) string {
	const day = 24 * time.Hour
	use := map[time.Duration]Milli{0: 8, 7 * day: 0, 10 * day: 12, 12 * day: 4, 16 * day: 0}
	var out strings.Builder
	fmt.Fprintln(&out, " day   GPUs  score  0         2         4         6         8         10        12")
	for passed := time.Duration(0); passed <= 21*day; passed += day / 2 {
		now := start.Add(passed)
		if n, ok := use[passed]; ok {
			b.Start(Task{UID: "a", Tenant: "ann", Holds: []Charge{{"T4", 1000 * n}}}, now)
		}
		a := b.Accounts("ann", now)[0]
		line := []byte(strings.Repeat(" ", 61))
		line[5*a.Usage/1000] = '|'
		line[int(5*a.Score+.5)] = '*'
		fmt.Fprintf(&out, "%4.1f %6d %6.2f  %s\n", passed.Hours()/24, a.Usage/1000, a.Score, strings.TrimRight(string(line), " "))
	}
	return out.String()
}
