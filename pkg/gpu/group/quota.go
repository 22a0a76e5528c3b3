package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Scope is what a quota limits, in thousandths of a GPU or of a CPU core: a tenant's GPUs of one
// type, its GPUs of all types (sched.TypeAnyGPU), its GPUs of one group, or its CPU cores
// (sched.TypeCPU).
type Scope struct {
	Tenant string
	Type   string // "" if Group is set
	Group  string
}

// String returns a text such as "tenant a, GPU type T4" or "tenant a, GPU group g".
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

// QuotaCharge is how many GPUs of one type, or how many cores, a pod holds or will hold.
type QuotaCharge struct {
	Type  string // sched.TypeCPU for cores
	Group string // the group that the GPUs came from, or ""
	Milli sched.MilliGPU
}

// QuotaCharges converts the charges of a pod from fairshare.Charge to QuotaCharge. Each charge says
// how much the pod holds of one type of resource. The parameter `group` is the GPU group of the
// pod's GPUs, or "".
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

// Quotas has the limits of tenants, and counts how much of each limit they use. The caller calls
// Charge when it decides to place a pod, and Return when the pod no longer holds anything. The pod
// counts in the meantime. Quotas is not safe for concurrent use.
type Quotas struct {
	limits map[Scope]sched.MilliGPU
	used   map[Scope]sched.MilliGPU
	pods   map[string]podCharges // by UID
}

type podCharges struct {
	tenant  string
	charges []QuotaCharge
}

// NewQuotas returns Quotas in which no limit is set and no pod counts.
func NewQuotas() *Quotas {
	return &Quotas{map[Scope]sched.MilliGPU{}, map[Scope]sched.MilliGPU{}, map[string]podCharges{}}
}

// Limit sets a limit. A tenant that already holds more keeps what it holds.
func (q *Quotas) Limit(scope Scope, most sched.MilliGPU) { q.limits[scope] = most }

// Unlimit removes a limit.
func (q *Quotas) Unlimit(scope Scope) { delete(q.limits, scope) }

// The method Left returns how much the tenant may still get before it reaches the limit. The first
// result is never negative. The second result is false if no limit is set for the scope.
func (q *Quotas) Left(scope Scope) (left sched.MilliGPU, limited bool) {
	limit, limited := q.limits[scope]
	return max(0, limit-q.used[scope]), limited
}

// The method Over returns a *GPURefusal if the tenant would exceed the limit of the scope by
// getting the given amount in addition to what it already uses. Otherwise it returns nil.
func (q *Quotas) Over(scope Scope, amount sched.MilliGPU) error {
	if limit, limited := q.limits[scope]; limited && q.used[scope]+amount > limit {
		return q.refuse(scope, amount)
	}
	return nil
}

// The method `over` returns the first scope, in the order of the method `compare`, whose limit
// would be exceeded if the scope's amount was added to what the tenant already uses. It returns
// false if there is no such scope.
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

// Check returns a *GPURefusal that names the limit that a tenant would exceed if these charges were
// added to what it already uses. It returns nil if the tenant would exceed no limit.
func (q *Quotas) Check(tenant string, charges []QuotaCharge) error {
	amounts := sums(tenant, charges)
	if s, over := q.over(amounts); over {
		return q.refuse(s, amounts[s])
	}
	return nil
}

// Charge counts these charges for a pod. They replace the charges that counted for the pod before.
// Charge does not check limits.
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

// Return stops counting a pod's charges. It does nothing for a pod without charges.
func (q *Quotas) Return(uid string) {
	p := q.pods[uid]
	for s, amount := range sums(p.tenant, p.charges) {
		if q.used[s] -= amount; q.used[s] == 0 {
			delete(q.used, s)
		}
	}
	delete(q.pods, uid)
}

// sums returns the sum of the charges for each scope. A charge for GPUs counts for several scopes:
// the GPU type, all GPU types together, and the group.
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

// Holders returns how much of a group each tenant holds. Tenants that hold nothing are left out. It
// visits all scopes of all tenants.
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

// count returns an amount as text, such as "1 GPU", "0.5 GPUs" or "2 CPUs".
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

// PendingCharge is what will be charged for a pod when it is placed.
type PendingCharge struct {
	UID, Tenant string
	QuotaCharge
}

// The method Together checks that no limit prevents charging `need` of the given pods at the same
// time. Those of the pods that are already charged count towards `need`. The method adds the other
// pods in the given order and skips a pod that would exceed a limit. It does not try other
// selections of pods. If too few pods can be charged because of limits, the method returns a
// *GPURefusal. The refusal names the first limit that would be exceeded. It also says how much the
// missing pods request together. The missing pods are the first of the pods that are not charged
// yet. Their number is the one that is necessary to reach `need`, unless there are fewer such pods.
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
	for _, d := range pending[:min(need, len(pending))] {
		whole = d.beside(whole)
	}
	return q.refuse(exceeded[0], whole[exceeded[0]])
}

// The method `beside` returns a copy of the sums given as `others`, which are the charges of other
// pods, and adds this charge to the copy.
func (d PendingCharge) beside(others map[Scope]sched.MilliGPU) map[Scope]sched.MilliGPU {
	sum := maps.Clone(others)
	for s, amount := range sums(d.Tenant, []QuotaCharge{d.QuotaCharge}) {
		sum[s] += amount
	}
	return sum
}
