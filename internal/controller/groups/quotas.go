package groups

import (
	"fmt"
	"iter"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Quotas compares what tenants hold with the quotas of tenants and of groups. Pods count
// from the moment when their node is decided (Observe). Its methods may be called from any
// goroutine; freed and moved must not call it.
//
// Charges are computed only for tenants with a quota, and for the usage of groups. Most tenants
// have no quota, and the committer has to wait while a decision is charged. When a tenant gets its
// first quota, it is charged for the pods that are assigned at that moment.
type Quotas struct {
	assigned Assigned
	freed    func(tenant string) // is called when a tenant may hold more than before
	moved    func()              // is called when the usage of a tenant with a quota, or of a group, has changed
	mu       struct {
		sync.Mutex
		quotas  *group.Quotas
		tenants map[string]limits // quotas of tenants, by tenant
		groups  limits            // quotas of groups
		limits  map[string]int    // number of quotas of each tenant
		pods    map[string]holder // that are charged, by UID
	}
}

// Assigned calls a function with all assignments (nodestate.State.Visit). No assignment can change
// until the function returns.
type Assigned func(func(iter.Seq[*nodestate.Assignment]))

// limits are the maximum amounts.
type limits map[group.Scope]sched.MilliGPU

// holder is a pod for which its tenant is charged.
type holder struct {
	tenant  string
	inGroup bool // its GPUs are from a group
}

// NewQuotas returns Quotas without quotas and pods.
func NewQuotas(assigned Assigned, freed func(tenant string), moved func()) *Quotas {
	q := &Quotas{assigned: assigned, freed: freed, moved: moved}
	q.mu.quotas = group.NewQuotas()
	q.mu.tenants, q.mu.limits, q.mu.pods = map[string]limits{}, map[string]int{}, map[string]holder{}
	return q
}

// SetGroups replaces the quotas of groups by those of the groups in force. It does not call
// freed or moved, because a change of groups queues all pods with GPUs again anyway.
func (q *Quotas) SetGroups(groups []group.Group) {
	all := limits{}
	for i := range groups {
		maps.Copy(all, groups[i].Limits())
	}
	q.assigned(func(pods iter.Seq[*nodestate.Assignment]) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.replace(q.mu.groups, all, pods)
		q.mu.groups = all
	})
}

// SetTenant replaces the quotas of a tenant, and reports whether they have changed. Nil
// removes them.
func (q *Quotas) SetTenant(name string, quotas map[string]resource.Quantity) bool {
	own := limits{}
	for kind, most := range quotas {
		own[group.Scope{Tenant: name, Type: kind}] = sched.MilliGPU(v1alpha1.MilliAmount(most))
	}
	changed := false
	q.assigned(func(pods iter.Seq[*nodestate.Assignment]) {
		q.mu.Lock()
		defer q.mu.Unlock()
		if changed = !maps.Equal(own, q.mu.tenants[name]); !changed {
			return
		}
		q.replace(q.mu.tenants[name], own, pods)
		if q.mu.tenants[name] = own; len(own) == 0 {
			delete(q.mu.tenants, name)
		}
	})
	return changed
}

// replace replaces old limits by new ones. Tenants that had no limit before are charged for
// their pods. It needs q.mu.
func (q *Quotas) replace(old, now limits, pods iter.Seq[*nodestate.Assignment]) {
	for s := range old {
		q.mu.quotas.Unlimit(s)
		if q.mu.limits[s.Tenant]--; q.mu.limits[s.Tenant] == 0 {
			delete(q.mu.limits, s.Tenant)
		}
	}
	first := map[string]bool{}
	for s, most := range now {
		q.mu.quotas.Limit(s, most)
		if q.mu.limits[s.Tenant]++; q.mu.limits[s.Tenant] == 1 {
			first[s.Tenant] = true
		}
	}
	if len(first) == 0 {
		return
	}
	for a := range pods {
		if first[a.Tenant] {
			q.count(a, a.Entry().Newest())
		}
	}
}

// counts reports whether the charges of a pod are added up: for a quota of its tenant, or
// for the usage of a group, which its status shows. It needs q.mu.
func (q *Quotas) counts(h holder) bool { return q.mu.limits[h.tenant] > 0 || h.inGroup }

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
func due(pod *sched.Pod) group.QuotaCharge {
	switch {
	case pod.GPUs.Count > 0 && len(pod.GPUs.Types) == 1:
		return group.QuotaCharge{Type: pod.GPUs.Types[0], Group: pod.GPUs.Group, Milli: sched.MilliGPU(pod.GPUs.Count) * pod.GPUs.Milli}
	case pod.GPUs.Count > 0:
		return group.QuotaCharge{Type: sched.TypeAnyGPU, Group: pod.GPUs.Group, Milli: sched.MilliGPU(pod.GPUs.Count) * pod.GPUs.Milli}
	case pod.GPUs.Part.Count > 0:
		return group.QuotaCharge{Type: sched.TypeAnyGPU, Milli: 1} // the minimum
	}
	return group.QuotaCharge{Type: sched.TypeCPU, Milli: sched.MilliGPU(pod.Requests.CPU)}
}

// Check returns an error if a decision exceeds a quota. The node's record has the types of
// its GPUs. Only the committer decides, so no other decision comes between the check and
// the assignment.
func (q *Quotas) Check(decision sched.Decision, node *sched.Node) error {
	if !q.Limited(decision.Pod.Tenant) {
		return nil
	}
	charges := chargesOf(nodestate.Decided(decision), node)
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.quotas.Check(decision.Pod.Tenant, charges)
}

func chargesOf(assignment *nodestate.Assignment, node *sched.Node) []group.QuotaCharge {
	return group.QuotaCharges(assignment.Charges(node), assignment.Group)
}

// Observe charges tenants for what their pods hold, decided or bound. It is a subscriber
// of the state of the nodes.
func (q *Quotas) Observe(event nodestate.Event) {
	switch event.Kind {
	case nodestate.Placed, nodestate.Bound:
		q.charge(event.Now, event.Node)
	case nodestate.NodeChanged:
		for a := range event.Entry.Assignments() {
			if event.Node != nil && a.HasGPUs() {
				q.charge(a, event.Node)
			}
		}
	case nodestate.Undone:
		// freed is not called: a gang that was tried without success would otherwise reactivate
		// itself.
		if _, counted := q.release(event.UID); counted {
			q.moved()
		}
	case nodestate.Released:
		if tenant, counted := q.release(event.UID); counted {
			q.moved()
			q.freed(tenant)
		}
	}
}

// charge replaces the charges of a pod, if they are added up.
func (q *Quotas) charge(assignment *nodestate.Assignment, node *sched.Node) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.counts(holder{assignment.Tenant, assignment.Group != ""}) {
		q.count(assignment, node)
		q.moved()
	} else if _, counted := q.mu.pods[assignment.UID]; counted {
		q.drop(assignment.UID)
	}
}

// count adds up the charges of a pod. It needs q.mu.
func (q *Quotas) count(assignment *nodestate.Assignment, node *sched.Node) {
	q.mu.pods[assignment.UID] = holder{assignment.Tenant, assignment.Group != ""}
	q.mu.quotas.Charge(assignment.UID, assignment.Tenant, chargesOf(assignment, node))
}

// drop removes the charges of a pod. It needs q.mu.
func (q *Quotas) drop(uid string) {
	delete(q.mu.pods, uid)
	q.mu.quotas.Return(uid)
}

// release removes a pod, and reports whether its charges were added up.
func (q *Quotas) release(uid string) (tenant string, counted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h, known := q.mu.pods[uid]
	if !known {
		return "", false
	}
	q.drop(uid)
	return h.tenant, q.counts(h)
}

// Holders returns the amount of a group that each tenant holds.
func (q *Quotas) Holders(name string) map[string]sched.MilliGPU {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.quotas.Holders(name)
}
