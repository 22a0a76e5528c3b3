package group

import (
	"strings"
	"testing"

	"github.com/numalet/numalet/pkg/sched"
)

// TestTogetherOfTooFew calls Together with fewer pods than must start together. It checks that the
// refusal says how much all of these pods request.
func TestTogetherOfTooFew(t *testing.T) {
	q := NewQuotas()
	q.Limit(Scope{Tenant: "ann", Type: "T4"}, sched.WholeGPU)
	charge := QuotaCharge{Type: "T4", Milli: sched.WholeGPU}
	err := q.Together([]PendingCharge{{"a", "ann", charge}, {"b", "ann", charge}}, 3)
	if err == nil || !strings.Contains(err.Error(), "2 GPUs requested") {
		t.Errorf("Together = %v, want a refusal of 2 GPUs", err)
	}
}
