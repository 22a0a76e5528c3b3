package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Scope is what a limit is on: what a tenant holds of one type of GPU, of all types
// (usage.AnyGPU), of one group, or of cores (usage.CPU).
type Scope struct {
	Tenant string
	Type   string // "" where Group is named
	Group  string
}

// String returns "tenant a, GPU type T4", "tenant a, GPU group g" and so on.
func (s Scope) String() string {
	switch {
	case s.Group != "":
		return fmt.Sprintf("tenant %s, GPU group %s", s.Tenant, s.Group)
	case s.Type == string(fairshare.CPU):
		return fmt.Sprintf("tenant %s, CPUs", s.Tenant)
	case s.Type == string(fairshare.AnyGPU):
		return fmt.Sprintf("tenant %s, GPUs of all types", s.Tenant)
	}
	return fmt.Sprintf("tenant %s, GPU type %s", s.Tenant, s.Type)
}

// Limits returns a group's quota as limits, one for each of its tenants.
func (g *Group) Limits() map[Scope]sched.MilliGPU {
	limits := map[Scope]sched.MilliGPU{}
	for _, tenant := range g.Tenants {
		if g.Quota > 0 {
			limits[Scope{Tenant: tenant, Group: g.Name}] = g.Quota
		}
	}
	return limits
}

// Charge is GPUs of one type, or cores, that a container holds, or is about to.
type Charge struct {
	Type  string // usage.CPU for cores
	Group string // that they were given from, or ""
	Milli sched.MilliGPU
}

// Charges returns what a pod is charged with, as the charges for its use say, where
// its GPUs were given from that group.
func Charges(used []fairshare.Charge, group string) []Charge {
	charges := make([]Charge, len(used))
	for i, u := range used {
		charges[i] = Charge{Type: string(u.Type), Milli: sched.MilliGPU(u.Amount)}
		if u.Type != fairshare.CPU {
			charges[i].Group = group
		}
	}
	return charges
}

// Quotas counts what tenants hold, against their limits. What was decided counts
// from then on, until it is given back. It is not safe for concurrent use.
type Quotas struct {
	limits map[Scope]sched.MilliGPU
	given  map[Scope]sched.MilliGPU
	held   map[string]held // by UID
}

type held struct {
	tenant  string
	charges []Charge
}

// NewQuotas returns Quotas without limits, of which nothing is given.
func NewQuotas() *Quotas {
	return &Quotas{map[Scope]sched.MilliGPU{}, map[Scope]sched.MilliGPU{}, map[string]held{}}
}

// Limit sets the most that may be held. Nothing is taken from who holds more.
func (q *Quotas) Limit(s Scope, most sched.MilliGPU) { q.limits[s] = most }

// Unlimit lifts a limit.
func (q *Quotas) Unlimit(s Scope) { delete(q.limits, s) }

// Left returns what may still be given: the limit less what is given, and 0 at
// least. limited is false where there is no limit.
func (q *Quotas) Left(s Scope) (left sched.MilliGPU, limited bool) {
	limit, limited := q.limits[s]
	return max(0, limit-q.given[s]), limited
}

// Over says why an amount more may not be given now: a *Refusal, or nil.
func (q *Quotas) Over(s Scope, amount sched.MilliGPU) error {
	if limit, limited := q.limits[s]; limited && q.given[s]+amount > limit {
		return q.refuse(s, amount)
	}
	return nil
}

// over returns the first limit by name that amounts given together would go over.
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

// Check says which limit a tenant would go over with charges: a *Refusal, or nil.
func (q *Quotas) Check(tenant string, charges []Charge) error {
	amounts := sums(tenant, charges)
	if s, over := q.over(amounts); over {
		return q.refuse(s, amounts[s])
	}
	return nil
}

// Charge charges a pod's tenant with all that the pod has, in place of what it was
// charged with before, whatever the limits.
func (q *Quotas) Charge(uid, tenant string, charges []Charge) {
	q.Return(uid)
	if len(charges) == 0 {
		return
	}
	q.held[uid] = held{tenant, charges}
	for s, amount := range sums(tenant, charges) {
		q.given[s] += amount
	}
}

// Return gives back what a pod was charged with. A pod that nobody knows has
// nothing.
func (q *Quotas) Return(uid string) {
	h := q.held[uid]
	for s, amount := range sums(h.tenant, h.charges) {
		if q.given[s] -= amount; q.given[s] == 0 {
			delete(q.given, s)
		}
	}
	delete(q.held, uid)
}

// sums adds charges up by what limits are on.
func sums(tenant string, charges []Charge) map[Scope]sched.MilliGPU {
	all := map[Scope]sched.MilliGPU{}
	for _, c := range charges {
		all[Scope{Tenant: tenant, Type: c.Type}] += c.Milli
		if c.Type != string(fairshare.CPU) && c.Type != string(fairshare.AnyGPU) {
			all[Scope{Tenant: tenant, Type: string(fairshare.AnyGPU)}] += c.Milli
		}
		if c.Group != "" {
			all[Scope{Tenant: tenant, Group: c.Group}] += c.Milli
		}
	}
	return all
}

func (q *Quotas) refuse(s Scope, amount sched.MilliGPU) *Refusal {
	if amount > q.limits[s] {
		return refuse(OverQuota, "%s: %s asked for and the limit is %s: ask for fewer, or ask the administrator for a higher limit",
			s, s.count(amount), s.count(q.limits[s]))
	}
	return refuse(OverQuota, "%s: %s asked for, %s held and the limit is %s: wait until others of this tenant end, or ask the administrator for a higher limit",
		s, s.count(amount), s.count(q.given[s]), s.count(q.limits[s]))
}

// count returns "1 GPU", "0.5 GPUs", "2 CPUs" and so on.
func (s Scope) count(amount sched.MilliGPU) string {
	noun := "GPU"
	if s.Type == string(fairshare.CPU) {
		noun = "CPU"
	}
	if amount == sched.WholeGPU {
		return "1 " + noun
	}
	return fmt.Sprintf("%g %ss", float64(amount)/float64(sched.WholeGPU), noun)
}
