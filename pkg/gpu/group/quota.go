package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Scope is what a limit applies to: a tenant's GPUs of one type, of all types
// (sched.TypeAnyGPU) or of one group, or its cores (sched.TypeCPU).
type Scope struct {
	Tenant string
	Type   string // "" if Group is set
	Group  string
}

// String returns "tenant a, GPU type T4", "tenant a, GPU group g" and so on.
func (s Scope) String() string {
	switch {
	case s.Group != "":
		return fmt.Sprintf("tenant %s, GPU group %s", s.Tenant, s.Group)
	case s.Type == sched.TypeCPU:
		return fmt.Sprintf("tenant %s, CPUs", s.Tenant)
	case s.Type == sched.TypeAnyGPU:
		return fmt.Sprintf("tenant %s, GPUs of all types", s.Tenant)
	}
	return fmt.Sprintf("tenant %s, GPU type %s", s.Tenant, s.Type)
}

// Limits returns a group's quota as one limit for each of its tenants.
func (g *Group) Limits() map[Scope]sched.MilliGPU {
	limits := map[Scope]sched.MilliGPU{}
	for _, tenant := range g.Tenants {
		if g.Quota > 0 {
			limits[Scope{Tenant: tenant, Group: g.Name}] = g.Quota
		}
	}
	return limits
}

// QuotaCharge is the GPUs of one type, or the cores, that a pod holds or is about to hold.
type QuotaCharge struct {
	Type  string // sched.TypeCPU for cores
	Group string // the group that the GPUs came from, or ""
	Milli sched.MilliGPU
}

// QuotaCharges converts the charges for a pod's usage, whose GPUs came from a group.
func QuotaCharges(used []fairshare.Charge, group string) []QuotaCharge {
	charges := make([]QuotaCharge, len(used))
	for i, u := range used {
		charges[i] = QuotaCharge{Type: string(u.Type), Milli: sched.MilliGPU(u.Amount)}
		if u.Type != fairshare.CPU {
			charges[i].Group = group
		}
	}
	return charges
}

// Quotas counts what tenants hold against their limits. A pod counts from the decision to
// place it until its charges are returned. Quotas is not safe for concurrent use.
type Quotas struct {
	limits map[Scope]sched.MilliGPU
	used   map[Scope]sched.MilliGPU
	pods   map[string]podCharges // by UID
}

type podCharges struct {
	tenant  string
	charges []QuotaCharge
}

// NewQuotas returns Quotas without limits and charges.
func NewQuotas() *Quotas {
	return &Quotas{map[Scope]sched.MilliGPU{}, map[Scope]sched.MilliGPU{}, map[string]podCharges{}}
}

// Limit sets a limit. A tenant that holds more keeps it.
func (q *Quotas) Limit(scope Scope, most sched.MilliGPU) { q.limits[scope] = most }

// Unlimit removes a limit.
func (q *Quotas) Unlimit(scope Scope) { delete(q.limits, scope) }

// Left returns how much may still be charged, at least 0. limited is false without a
// limit.
func (q *Quotas) Left(scope Scope) (left sched.MilliGPU, limited bool) {
	limit, limited := q.limits[scope]
	return max(0, limit-q.used[scope]), limited
}

// Over returns why an additional amount would exceed a limit: a *GPURefusal, or nil.
func (q *Quotas) Over(scope Scope, amount sched.MilliGPU) error {
	if limit, limited := q.limits[scope]; limited && q.used[scope]+amount > limit {
		return q.refuse(scope, amount)
	}
	return nil
}

// over returns the first limit by name that the amounts, added together, would exceed.
func (q *Quotas) over(amounts map[Scope]sched.MilliGPU) (Scope, bool) {
	for _, s := range slices.SortedFunc(maps.Keys(amounts), Scope.compare) {
		if q.Over(s, amounts[s]) != nil {
			return s, true
		}
	}
	return Scope{}, false
}

func (s Scope) compare(other Scope) int {
	return cmp.Or(cmp.Compare(s.Tenant, other.Tenant), cmp.Compare(s.Type, other.Type), cmp.Compare(s.Group, other.Group))
}

// Check returns which limit a tenant would exceed with additional charges: a *GPURefusal,
// or nil.
func (q *Quotas) Check(tenant string, charges []QuotaCharge) error {
	amounts := sums(tenant, charges)
	if s, over := q.over(amounts); over {
		return q.refuse(s, amounts[s])
	}
	return nil
}

// Charge replaces a pod's charges, regardless of limits.
func (q *Quotas) Charge(uid, tenant string, charges []QuotaCharge) {
	q.Return(uid)
	if len(charges) == 0 {
		return
	}
	q.pods[uid] = podCharges{tenant, charges}
	for s, amount := range sums(tenant, charges) {
		q.used[s] += amount
	}
}

// Return removes a pod's charges, if it has any.
func (q *Quotas) Return(uid string) {
	p := q.pods[uid]
	for s, amount := range sums(p.tenant, p.charges) {
		if q.used[s] -= amount; q.used[s] == 0 {
			delete(q.used, s)
		}
	}
	delete(q.pods, uid)
}

// sums adds charges up by the scopes to which they count.
func sums(tenant string, charges []QuotaCharge) map[Scope]sched.MilliGPU {
	all := map[Scope]sched.MilliGPU{}
	for _, charge := range charges {
		all[Scope{Tenant: tenant, Type: charge.Type}] += charge.Milli
		if charge.Type != sched.TypeCPU && charge.Type != sched.TypeAnyGPU {
			all[Scope{Tenant: tenant, Type: sched.TypeAnyGPU}] += charge.Milli
		}
		if charge.Group != "" {
			all[Scope{Tenant: tenant, Group: charge.Group}] += charge.Milli
		}
	}
	return all
}

// Holders returns how much of a group each tenant holds, without tenants that hold
// nothing. O(tenants · types).
func (q *Quotas) Holders(group string) map[string]sched.MilliGPU {
	holders := map[string]sched.MilliGPU{}
	for s, amount := range q.used {
		if s.Group == group && amount > 0 {
			holders[s.Tenant] = amount
		}
	}
	return holders
}

func (q *Quotas) refuse(scope Scope, amount sched.MilliGPU) *GPURefusal {
	if amount > q.limits[scope] {
		return refuse(OverQuota, "%s: %s requested, but the limit is %s: request fewer, or ask an administrator for a higher limit",
			scope, scope.count(amount), scope.count(q.limits[scope]))
	}
	return refuse(OverQuota, "%s: %s requested, but %s in use and the limit is %s: wait until other pods of this tenant end, or ask an administrator for a higher limit",
		scope, scope.count(amount), scope.count(q.used[scope]), scope.count(q.limits[scope]))
}

// count returns an amount as "1 GPU", "0.5 GPUs" or "2 CPUs".
func (s Scope) count(amount sched.MilliGPU) string {
	noun := "GPU"
	if s.Type == sched.TypeCPU {
		noun = "CPU"
	}
	if amount == sched.WholeGPU {
		return "1 " + noun
	}
	return fmt.Sprintf("%g %ss", float64(amount)/float64(sched.WholeGPU), noun)
}

// PendingCharge is the charge that a pod would cause.
type PendingCharge struct {
	UID, Tenant string
	QuotaCharge
}

// Together returns why fewer pods than the number need can be charged now: a *GPURefusal that names
// the limit which the first refused pod would exceed, and how much need pods request of it; or nil.
// Pods that are charged already count as chargeable.
func (q *Quotas) Together(all []PendingCharge, need int) error {
	pending := slices.DeleteFunc(slices.Clone(all), func(d PendingCharge) bool { _, charged := q.pods[d.UID]; return charged })
	need -= len(all) - len(pending)
	var exceeded []Scope
	sum, chargeable := map[Scope]sched.MilliGPU{}, 0
	for _, d := range pending {
		with := d.beside(sum)
		if s, over := q.over(with); over {
			exceeded = append(exceeded, s)
			continue
		}
		sum, chargeable = with, chargeable+1
	}
	if chargeable >= need || len(exceeded) == 0 {
		return nil
	}
	whole := map[Scope]sched.MilliGPU{}
	for _, d := range pending[:need] {
		whole = d.beside(whole)
	}
	return q.refuse(exceeded[0], whole[exceeded[0]])
}

// beside adds the charge to the sums of other pods.
func (d PendingCharge) beside(others map[Scope]sched.MilliGPU) map[Scope]sched.MilliGPU {
	sum := maps.Clone(others)
	for s, amount := range sums(d.Tenant, []QuotaCharge{d.QuotaCharge}) {
		sum[s] += amount
	}
	return sum
}
