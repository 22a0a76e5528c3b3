package fairshare

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPrune checks that Prune removes tenants that use nothing as soon as their score is
// negligible, but not tenants with a running task, or tenants whose weight was set.
func TestPrune(t *testing.T) {
	decay, err := NewDecay(3600)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(0, 0)
	b, at := New(decay), func(seconds float64) time.Time { return start.Add(time.Duration(seconds * 1e9)) }
	hold := func(tenant string, ends float64) {
		b.Start(Task{UID: tenant, Tenant: tenant, Since: start, Holds: []Charge{{CPU, 1000}}}, start)
		if ends > 0 {
			b.Forget(tenant, at(ends))
		}
	}
	hold("running", 0)
	for i := range 1000 {
		hold(fmt.Sprint("invented-", i), 1)
	}
	hold("weighed", 1)
	if err := b.Weigh("weighed", 2); err != nil {
		t.Fatal(err)
	}
	hold("long", 3600)
	for _, tc := range []struct {
		at   float64
		want []string
	}{
		{3600, []string{"long", "running", "weighed"}},
		{3600 + 6*3600, []string{"long", "running", "weighed"}}, // the score of "long" was 1 − e^−1 = 0.63 after an hour, and is now 0.63 · e^−6 = 0.0016
		{3600 + 7*3600, []string{"running", "weighed"}},         // 0.63 · e^−7 = 0.0006, which is negligible
	} {
		b.Prune(at(tc.at))
		if diff := cmp.Diff(tc.want, b.Tenants()); diff != "" {
			t.Errorf("tenants at second %v (-want +got):\n%s", tc.at, diff)
		}
	}
	if rank := b.Rank("running", CPU, at(8*3600)); rank < .99 {
		t.Errorf("who runs has rank %v, want that of one core", rank)
	}
	b.Start(Task{UID: "again", Tenant: "long", Holds: []Charge{{CPU, 1000}}}, at(9*3600))
	if rank := b.Rank("long", CPU, at(12*3600)); rank < .95 {
		t.Errorf("who was forgotten and runs again has rank %v, want 0.95", rank)
	}
}
