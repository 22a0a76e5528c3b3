package tenants

import (
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// TestClockJumps checks that scores go on changing with a SteadyClock, even if the wall clock was
// 30 days ahead for a moment. It also checks that with the wall clock itself, scores do not
// change after such a jump.
func TestClockJumps(t *testing.T) {
	for name, tc := range map[string]struct {
		jumps  bool // whether the ledger uses the wall clock, which jumps
		frozen bool
	}{
		"wall clock":   {jumps: true, frozen: true},
		"steady clock": {},
	} {
		t.Run(name, func(t *testing.T) {
			passed, ahead := time.Duration(0), time.Duration(0)
			since := func(time.Time) time.Duration {
				if tc.jumps {
					return passed + ahead
				}
				return passed
			}
			decay, err := fairshare.NewDecay(3600)
			if err != nil {
				t.Fatal(err)
			}
			l := NewLedger(decay, SteadyClock(time.Unix(1e9, 0), since))
			if err := l.Open(nil); err != nil {
				t.Fatal(err)
			}
			l.Start(fairshare.Task{UID: "a", Tenant: "ann", Holds: []fairshare.Charge{{Type: fairshare.CPU, Amount: 1000}}})
			ahead = 30 * 24 * time.Hour
			before := l.Rank("ann", fairshare.CPU)
			ahead = 0
			passed = time.Hour
			if frozen := l.Rank("ann", fairshare.CPU) == before; frozen != tc.frozen {
				t.Errorf("the score stands still: %v, want %v", frozen, tc.frozen)
			}
		})
	}
}
