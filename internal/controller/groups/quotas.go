package groups

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Quotas counts what tenants hold, and are about to, against the quotas of tenants
// and of groups, as the state of the cluster says (Observe). What was decided counts
// from then on. Its methods may be called from any goroutine; freed and moved must not
// call it.
//
// Most tenants have no quota, and their pods are only noted: adding up charges costs
// ten times as much, and is done later for a tenant that gets its first quota.
type Quotas struct {
	freed func(tenant string) // may hold more than before
	moved func()              // somebody holds more or less
	mu    struct {
		sync.Mutex
		quotas  *group.Quotas
		tenants map[string]limits // of the tenants' own
		groups  limits            // of groups
		limits  map[string]int    // how many a tenant has
		pods    map[string]holder // by UID
	}
}

// limits are the most that may be held.
type limits map[group.Scope]sched.MilliGPU

// holder is a pod that holds something.
type holder struct {
	tenant  string
	charges []group.QuotaCharge
}

// NewQuotas returns Quotas of nobody.
func NewQuotas(freed func(tenant string), moved func()) *Quotas {
	q := &Quotas{freed: freed, moved: moved}
	q.mu.quotas = group.NewQuotas()
	q.mu.tenants, q.mu.limits, q.mu.pods = map[string]limits{}, map[string]int{}, map[string]holder{}
	return q
}

// SetGroups tells the quotas of the groups in force, in place of those before. It
// calls nobody: where groups change, all pods are asked anew.
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

// SetTenant tells the quotas of a tenant, in place of those before, and reports
// whether they are others; nil lifts them.
func (q *Quotas) SetTenant(name string, quotas map[string]resource.Quantity) bool {
	own := limits{}
	for kind, most := range quotas {
		own[group.Scope{Tenant: name, Type: kind}] = sched.MilliGPU(most.MilliValue())
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

// replace and limit need q.mu.

// replace puts limits in place of others.
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

// limit sets a limit. With a tenant's first one its charges begin to be added up.
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

// counts reports whether a pod's charges are to be added up: against a quota, or
// for who looks at a group.
func (q *Quotas) counts(h holder) bool {
	return q.mu.limits[h.tenant] > 0 || slices.ContainsFunc(h.charges, func(c group.QuotaCharge) bool { return c.Group != "" })
}

// Limited reports whether any quota is a tenant's.
func (q *Quotas) Limited(tenant string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.limits[tenant] > 0
}

// Over says why so much more is over a quota, or nothing.
func (q *Quotas) Over(s group.Scope, amount sched.MilliGPU) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.limits[s.Tenant] == 0 {
		return nil
	}
	return q.mu.quotas.Over(s, amount)
}

// Wait says why a pod, or as many of those that it stands for as start together, are
// over a quota wherever they go.
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

// due returns what a pod is to be charged with wherever it goes.
func due(p *sched.Pod) group.QuotaCharge {
	switch {
	case p.GPUs.Count > 0 && len(p.GPUs.Types) == 1:
		return group.QuotaCharge{Type: p.GPUs.Types[0], Group: p.GPUs.Group, Milli: sched.MilliGPU(p.GPUs.Count) * p.GPUs.Milli}
	case p.GPUs.Count > 0:
		return group.QuotaCharge{Type: string(fairshare.AnyGPU), Group: p.GPUs.Group, Milli: sched.MilliGPU(p.GPUs.Count) * p.GPUs.Milli}
	case p.GPUs.Part.Count > 0:
		return group.QuotaCharge{Type: string(fairshare.AnyGPU), Milli: 1} // at least
	}
	return group.QuotaCharge{Type: string(fairshare.CPU), Milli: sched.MilliGPU(p.Requests.CPU)}
}

// Check says which quota a decision would go over, by the types of GPU of the node's
// record, or nothing. Only the committer decides, so that no other decision can come
// between its check and its assignment.
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

// Observe charges tenants for what their pods hold, decided or bound, whatever the
// quotas. It is a subscriber of the state of the cluster.
func (q *Quotas) Observe(e nodestate.Event) {
	switch e.Kind {
	case nodestate.Assigned:
		q.charge(e.Now, e.Node)
	case nodestate.NodeChanged:
		for a := range e.Entry.Assignments() {
			if e.Node != nil && a.HasGPUs() {
				q.charge(a, e.Node)
			}
		}
	case nodestate.Undone:
		// Nobody hears that the tenant may hold more: a gang that is tried in vain would
		// help itself.
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

// charge charges a pod, in place of what it was charged with before.
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

// release forgets a pod, and reports whether its charges were added up.
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

// Holders returns how much of a group each tenant holds.
func (q *Quotas) Holders(name string) map[string]sched.MilliGPU {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.quotas.Holders(name)
}
