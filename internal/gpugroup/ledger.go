package gpugroup

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
)

// Ledger counts what tenants hold, and are about to, against the quotas of tenants
// and of groups. What was decided counts from then on. Its methods may be called
// from any goroutine; freed and moved must not call it.
//
// Most tenants have no quota, and their pods are only noted: to add up charges
// costs ten times as much, and is made good for once a tenant gets a quota.
type Ledger struct {
	freed func(tenant string) // may hold more than before
	moved func()              // somebody holds more or less
	mu    struct {
		sync.Mutex
		quotas  *group.Quotas
		tenants map[string][]group.Scope // limits of the tenants' own
		groups  []group.Scope            // limits of groups
		limits  map[string]int           // how many limits a tenant has
		pods    map[string]entry         // by UID
	}
}

// entry is a pod that holds something.
type entry struct {
	tenant  string
	charges []group.Charge
	bound   bool // it is known to be; else it is only decided
}

// NewLedger returns a ledger without quotas.
func NewLedger(freed func(tenant string), moved func()) *Ledger {
	l := &Ledger{freed: freed, moved: moved}
	l.mu.quotas = group.NewQuotas()
	l.mu.tenants, l.mu.limits, l.mu.pods = map[string][]group.Scope{}, map[string]int{}, map[string]entry{}
	return l
}

// SetGroups tells the quotas of the groups in force, in place of those before. It
// calls nobody: where groups change, all pods are asked anew.
func (l *Ledger) SetGroups(groups []group.Group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lift(l.mu.groups)
	l.mu.groups = nil
	for i := range groups {
		for scope, most := range groups[i].Limits() {
			l.mu.groups = append(l.mu.groups, scope)
			l.limit(scope, most)
		}
	}
}

// SetTenant tells the quotas of a tenant, in place of those before; nil lifts them.
func (l *Ledger) SetTenant(name string, quotas map[string]resource.Quantity) {
	l.mu.Lock()
	l.lift(l.mu.tenants[name])
	delete(l.mu.tenants, name)
	for kind, most := range quotas {
		scope := group.Scope{Tenant: name, Type: kind}
		l.mu.tenants[name] = append(l.mu.tenants[name], scope)
		l.limit(scope, sched.MilliGPU(most.MilliValue()))
	}
	l.mu.Unlock()
	l.freed(name)
}

// lift and limit need l.mu.
func (l *Ledger) lift(scopes []group.Scope) {
	for _, s := range scopes {
		l.mu.quotas.Unlimit(s)
		if l.mu.limits[s.Tenant]--; l.mu.limits[s.Tenant] == 0 {
			delete(l.mu.limits, s.Tenant)
		}
	}
}

func (l *Ledger) limit(s group.Scope, most sched.MilliGPU) {
	l.mu.quotas.Limit(s, most)
	if l.mu.limits[s.Tenant]++; l.mu.limits[s.Tenant] > 1 {
		return
	}
	for uid, pod := range l.mu.pods {
		if pod.tenant == s.Tenant {
			l.mu.quotas.Restore(uid, pod.tenant, pod.charges)
		}
	}
}

// counts reports whether a pod's charges are to be added up: against a quota, or
// for who looks at a group.
func (l *Ledger) counts(e entry) bool {
	return l.mu.limits[e.tenant] > 0 || slices.ContainsFunc(e.charges, func(c group.Charge) bool { return c.Group != "" })
}

// Limited reports whether any quota is a tenant's.
func (l *Ledger) Limited(tenant string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.limits[tenant] > 0
}

// Over says why so much more is over a quota, or nothing.
func (l *Ledger) Over(s group.Scope, amount sched.MilliGPU) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.limits[s.Tenant] == 0 {
		return nil
	}
	return l.mu.quotas.Over(s, amount)
}

// Give charges for a decision, or says which quota it is over.
func (l *Ledger) Give(uid, tenant string, charges []group.Charge) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := entry{tenant, charges, false}
	if l.counts(e) {
		if err := l.mu.quotas.Give(uid, tenant, charges); err != nil {
			return err
		}
		l.moved()
	}
	l.mu.pods[uid] = e
	return nil
}

// Revoke takes back what was charged for a decision that was not entered or could
// not be bound. It changes nothing for a pod that turned out to be bound.
func (l *Ledger) Revoke(uid string) {
	l.mu.Lock()
	bound := l.mu.pods[uid].bound
	l.mu.Unlock()
	if !bound {
		l.End(uid)
	}
}

// Restore charges a pod that is bound, whoever decided it, and whatever the quotas.
func (l *Ledger) Restore(uid, tenant string, charges []group.Charge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := entry{tenant, charges, true}
	l.mu.pods[uid] = e
	if l.counts(e) {
		l.mu.quotas.Restore(uid, tenant, charges)
		l.moved()
	}
}

// End gives back what a pod was charged with.
func (l *Ledger) End(uid string) {
	if tenant, counted := l.end(uid); counted {
		l.moved()
		l.freed(tenant)
	}
}

func (l *Ledger) end(uid string) (tenant string, counted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.mu.pods[uid]
	delete(l.mu.pods, uid)
	l.mu.quotas.Return(uid)
	return e.tenant, l.counts(e)
}

// Holders returns how much of a group each tenant holds.
func (l *Ledger) Holders(name string) map[string]sched.MilliGPU {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.quotas.Holders(name)
}
