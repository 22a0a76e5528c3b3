package groups

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Quotas compares what tenants hold with the quotas of tenants and of groups. Pods count
// from the moment when their node is decided (Observe). Its methods may be called from any
// goroutine; freed and moved must not call it.
//
// Adding up charges costs ten times as much as storing them, and most tenants have no
// quota. So the charges of a tenant are only stored until it gets its first quota.
type Quotas struct {
	freed func(tenant string) // is called when a tenant may hold more than before
	moved func()              // is called when the usage of a tenant with a quota, or of a group, has changed
	mu    struct {
		sync.Mutex
		quotas  *group.Quotas
		tenants map[string]limits // quotas of tenants, by tenant
		groups  limits            // quotas of groups
		limits  map[string]int    // number of quotas of each tenant
		pods    map[string]holder // by UID
	}
}

// limits are the maximum amounts.
type limits map[group.Scope]sched.MilliGPU

// holder is a pod and its charges.
type holder struct {
	tenant  string
	charges []group.QuotaCharge
}

// NewQuotas returns Quotas without quotas and pods.
func NewQuotas(freed func(tenant string), moved func()) *Quotas {
	q := &Quotas{freed: freed, moved: moved}
	q.mu.quotas = group.NewQuotas()
	q.mu.tenants, q.mu.limits, q.mu.pods = map[string]limits{}, map[string]int{}, map[string]holder{}
	return q
}

// SetGroups replaces the quotas of groups by those of the groups in force. It does not call
// freed or moved, because a change of groups queues all pods with GPUs again anyway.
func (q *Quotas) SetGroups(groups []group.Group) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := limits{}
	for i := range groups {
		maps.Copy(all, groups[i].Limits())
	}
	q.replace(q.mu.groups, all)
	q.mu.groups = all
}

// SetTenant replaces the quotas of a tenant, and reports whether they have changed. Nil
// removes them.
func (q *Quotas) SetTenant(name string, quotas map[string]resource.Quantity) bool {
	own := limits{}
	for kind, most := range quotas {
		own[group.Scope{Tenant: name, Type: kind}] = sched.MilliGPU(v1alpha1.MilliAmount(most))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if maps.Equal(own, q.mu.tenants[name]) {
		return false
	}
	q.replace(q.mu.tenants[name], own)
	if q.mu.tenants[name] = own; len(own) == 0 {
		delete(q.mu.tenants, name)
	}
	return true
}

// The caller of replace and limit holds q.mu.

// replace replaces old limits by new ones.
func (q *Quotas) replace(old, now limits) {
	for s := range old {
		q.mu.quotas.Unlimit(s)
		if q.mu.limits[s.Tenant]--; q.mu.limits[s.Tenant] == 0 {
			delete(q.mu.limits, s.Tenant)
		}
	}
	for s, most := range now {
		q.limit(s, most)
	}
}

// limit sets a limit. On the first limit of a tenant it adds up the tenant's charges.
func (q *Quotas) limit(s group.Scope, most sched.MilliGPU) {
	q.mu.quotas.Limit(s, most)
	if q.mu.limits[s.Tenant]++; q.mu.limits[s.Tenant] > 1 {
		return
	}
	for uid, pod := range q.mu.pods {
		if pod.tenant == s.Tenant {
			q.mu.quotas.Charge(uid, pod.tenant, pod.charges)
		}
	}
}

// counts reports whether the charges of a pod are added up: for a quota of its tenant, or
// for the usage of a group, which its status shows.
func (q *Quotas) counts(h holder) bool {
	return q.mu.limits[h.tenant] > 0 || slices.ContainsFunc(h.charges, func(c group.QuotaCharge) bool { return c.Group != "" })
}

// Limited reports whether a tenant has any quota, of its own or of a group.
func (q *Quotas) Limited(tenant string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.limits[tenant] > 0
}

// Over returns an error if an additional amount exceeds a quota.
func (q *Quotas) Over(s group.Scope, amount sched.MilliGPU) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.limits[s.Tenant] == 0 {
		return nil
	}
	return q.mu.quotas.Over(s, amount)
}

// Wait returns why a pod exceeds a quota wherever it goes. For a gang it counts as many
// pods as start together.
func (q *Quotas) Wait(p *sched.Pod) sched.Reason {
	pods, need := p.Together()
	dues := make([]group.PendingCharge, len(pods))
	for i, pod := range pods {
		dues[i] = group.PendingCharge{UID: pod.UID, Tenant: pod.Tenant, QuotaCharge: due(pod)}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	why := nowhere(q.mu.quotas.Together(dues, need))
	if why.Refuses() && need > 1 {
		why.Detail = fmt.Sprintf("%d pods of gang %s start together: %s", need, p.Gang.ID, why.Detail)
	}
	return why
}

// due returns the charge of a pod that is the same on every node.
func due(p *sched.Pod) group.QuotaCharge {
	switch {
	case p.GPUs.Count > 0 && len(p.GPUs.Types) == 1:
		return group.QuotaCharge{Type: p.GPUs.Types[0], Group: p.GPUs.Group, Milli: sched.MilliGPU(p.GPUs.Count) * p.GPUs.Milli}
	case p.GPUs.Count > 0:
		return group.QuotaCharge{Type: string(fairshare.AnyGPU), Group: p.GPUs.Group, Milli: sched.MilliGPU(p.GPUs.Count) * p.GPUs.Milli}
	case p.GPUs.Part.Count > 0:
		return group.QuotaCharge{Type: string(fairshare.AnyGPU), Milli: 1} // the minimum
	}
	return group.QuotaCharge{Type: string(fairshare.CPU), Milli: sched.MilliGPU(p.Requests.CPU)}
}

// Check returns an error if a decision exceeds a quota. The node's record has the types of
// its GPUs. Only the committer decides, so no other decision comes between the check and
// the assignment.
func (q *Quotas) Check(d sched.Decision, node *sched.Node) error {
	if !q.Limited(d.Pod.Tenant) {
		return nil
	}
	charges := chargesOf(nodestate.Decided(d), node)
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.quotas.Check(d.Pod.Tenant, charges)
}

func chargesOf(a *nodestate.Assignment, node *sched.Node) []group.QuotaCharge {
	return group.QuotaCharges(a.Charges(node), a.Group)
}

// Observe charges tenants for what their pods hold, decided or bound. It is a subscriber
// of the state of the nodes.
func (q *Quotas) Observe(e nodestate.Event) {
	switch e.Kind {
	case nodestate.Placed, nodestate.Bound:
		q.charge(e.Now, e.Node)
	case nodestate.NodeChanged:
		for a := range e.Entry.Assignments() {
			if e.Node != nil && a.HasGPUs() {
				q.charge(a, e.Node)
			}
		}
	case nodestate.Undone:
		// freed is not called: a gang that was tried without success would otherwise reactivate
		// itself.
		if _, counted := q.release(e.UID); counted {
			q.moved()
		}
	case nodestate.Released:
		if tenant, counted := q.release(e.UID); counted {
			q.moved()
			q.freed(tenant)
		}
	}
}

// charge replaces the charges of a pod.
func (q *Quotas) charge(a *nodestate.Assignment, node *sched.Node) {
	h := holder{a.Tenant, chargesOf(a, node)}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.pods[a.UID] = h
	if q.counts(h) {
		q.mu.quotas.Charge(a.UID, h.tenant, h.charges)
		q.moved()
	}
}

// release removes a pod, and reports whether its charges were added up.
func (q *Quotas) release(uid string) (tenant string, counted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h, known := q.mu.pods[uid]
	if !known {
		return "", false
	}
	delete(q.mu.pods, uid)
	q.mu.quotas.Return(uid)
	return h.tenant, q.counts(h)
}

// Holders returns the amount of a group that each tenant holds.
func (q *Quotas) Holders(name string) map[string]sched.MilliGPU {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.quotas.Holders(name)
}
