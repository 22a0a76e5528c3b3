package groups

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// TestQuotasTwin makes random changes of pods and quotas. After each change, it checks that a
// tenant with a quota is charged for exactly what its pods hold. The charges must not depend on
// whether pods are bound already, or were assigned before the tenant had a quota.
func TestQuotasTwin(t *testing.T) {
	for seed := range uint64(20) {
		r, state, quotas := rand.New(rand.NewPCG(seed, 3)), nodestatetest.New(t, "cpu", filter.Profile{}), map[string]int64{}
		q := NewQuotas(state.Visit, func(string) {}, func() {})
		state.Subscribe(q.Observe)
		state.SetNode(&sched.Node{Name: "n"})
		for range 300 {
			uid, tenant := fmt.Sprint("p", r.IntN(10)), []string{"ann", "bob"}[r.IntN(2)]
			pod := &sched.Pod{UID: uid, Tenant: tenant, Requests: sched.Amounts{CPU: sched.MilliCPU(1 + r.IntN(5))}}
			d := sched.Decision{Pod: pod, At: sched.Placement{Node: "n"}}
			switch r.IntN(6) {
			case 0, 1:
				state.Place(pod, state.Record("n"), d.At, state.NarrowSeq())
			case 2:
				state.Adopt(nodestate.Assignment{UID: uid, Node: "n", Tenant: tenant, Holding: sched.Holding{Amounts: pod.Requests}})
			case 3:
				state.Undo(d)
			case 4:
				state.Release(uid)
			case 5:
				limits := map[string]resource.Quantity{}
				if quotas[tenant] = int64(r.IntN(2) * 1000); quotas[tenant] > 0 {
					limits["cpu"] = *resource.NewMilliQuantity(quotas[tenant], resource.DecimalSI)
				}
				q.SetTenant(tenant, limits)
			}
			checkCharges(t, q, state, quotas)
		}
	}
}

// checkCharges checks how much of its quota each tenant can still use according to q. This must be
// exactly the quota minus what the tenant's pods hold. The map `quotas` has the quotas by tenant.
func checkCharges(t *testing.T, q *Quotas, state *nodestate.State, quotas map[string]int64) {
	t.Helper()
	held := map[string]sched.MilliCPU{}
	for _, a := range state.Assignments("n") {
		held[a.Tenant] += a.CPU
	}
	for tenant, most := range quotas {
		scope, left := group.Scope{Tenant: tenant, Type: "cpu"}, sched.MilliGPU(most)-sched.MilliGPU(held[tenant])
		if q.Limited(tenant) != (most > 0) {
			t.Fatalf("tenant %s: limited is %v with a quota of %d", tenant, q.Limited(tenant), most)
		}
		if most > 0 && (q.Over(scope, left) != nil || q.Over(scope, left+1) == nil) {
			t.Fatalf("tenant %s holds %d, and not exactly %d is left: %v", tenant, held[tenant], left, q.Over(scope, left+1))
		}
	}
}
