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

// Quotas compares what tenants hold with the quotas of tenants and of GPU groups. A pod counts from
// the moment when its node is decided (see Observe). Any goroutine may call the methods of Quotas.
// But the functions in the fields `freed` and `moved`, which Quotas calls, must not call these
// methods.
//
// A tenant is charged for a pod: what the pod holds is added to what the tenant holds. Charges are
// computed only for tenants with a quota, and for pods with GPUs of a group. This saves time: the
// committer, which decides the nodes, waits while a decision is charged, and most tenants have no
// quota. When a tenant gets its first quota, it is charged for its assigned pods at once.
type Quotas struct {
	assigned Assigned
	freed    func(tenant string) // is called when a tenant has returned resources; its pending pods may now be within its quotas
	moved    func()              // is called when the usage of a group, or of a tenant with a quota, has changed
	mu       struct {
		sync.Mutex
		quotas  *group.Quotas
		tenants map[string]limits // quotas in the specs of Tenant objects, by tenant
		groups  limits            // quotas that groups set
		limits  map[string]int    // how many quotas the two maps above, `tenants` and `groups`, have for each tenant
		pods    map[string]holder // the charged pods, by UID
	}
}

// Assigned calls a function with all assignments of pods to nodes (nodestate.State.Visit). The
// assignments do not change until the function returns.
type Assigned func(func(iter.Seq[*nodestate.Assignment]))

// limits has the largest amount that each tenant may hold of a resource type or of the GPUs of a
// group.
type limits map[group.Scope]sched.MilliGPU

// holder is a pod for which a tenant is charged.
type holder struct {
	tenant  string
	inGroup bool // its GPUs are from a group
}

// NewQuotas returns Quotas that have no quotas and no pods yet.
func NewQuotas(assigned Assigned, freed func(tenant string), moved func()) *Quotas {
	q := &Quotas{assigned: assigned, freed: freed, moved: moved}
	q.mu.quotas = group.NewQuotas()
	q.mu.tenants, q.mu.limits, q.mu.pods = map[string]limits{}, map[string]int{}, map[string]holder{}
	return q
}

// SetGroups replaces the quotas of groups by those of the given groups, which are the groups in
// force. It does not call q.freed, because the controller queues all pending pods with whole GPUs
// again after a change of the groups.
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

// SetTenant replaces the quotas of a tenant, and reports whether they have changed. If the
// parameter `quotas` is nil, the tenant has no quotas any more.
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

// replace removes the limits in the map `old`, and sets those in the map `now`. A tenant that gets
// its first limit is charged for its assigned pods. The parameter `pods` has the assignments of all
// pods. The caller holds q.mu.
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

// counts reports whether a pod must be charged. A pod must be charged if its tenant has a quota, or
// if the pod has GPUs of a group, because the group's status shows the usage. The caller holds
// q.mu.
func (q *Quotas) counts(h holder) bool { return q.mu.limits[h.tenant] > 0 || h.inGroup }

// Limited reports whether a tenant has any quota: one that its Tenant object sets, or one that a
// group sets for its tenants.
func (q *Quotas) Limited(tenant string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.limits[tenant] > 0
}

// Over returns an error if the tenant of the scope s would exceed the quota of this scope by
// getting the given amount in addition to what the tenant already holds.
func (q *Quotas) Over(s group.Scope, amount sched.MilliGPU) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.limits[s.Tenant] == 0 {
		return nil
	}
	return q.mu.quotas.Over(s, amount)
}

// Wait returns the reason why a pod would exceed a quota of its tenant on every node, or the empty
// reason. If the pod belongs to a gang, Wait returns a reason only if the quotas leave room for
// fewer pods than must start together.
func (q *Quotas) Wait(p *sched.Pod) sched.Reason {
	pods, need := p.Together()
	charges := make([]group.PendingCharge, len(pods))
	for i, pod := range pods {
		charges[i] = group.PendingCharge{UID: pod.UID, Tenant: pod.Tenant, QuotaCharge: leastQuotaCharge(pod)}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	why := nowhere(q.mu.quotas.Together(charges, need))
	if why.Refuses() && need > 1 {
		why.Detail = fmt.Sprintf("%d pods of gang %s start together: %s", need, p.Gang.ID, why.Detail)
	}
	return why
}

// leastQuotaCharge returns a lower bound of the charge for a pod: on every node, the charge is at
// least this amount. On some nodes it is larger, because the size of a part of a GPU depends on the
// node.
func leastQuotaCharge(pod *sched.Pod) group.QuotaCharge {
	switch {
	case pod.GPUs.Count > 0 && len(pod.GPUs.Types) == 1:
		return group.QuotaCharge{Type: pod.GPUs.Types[0], Group: pod.GPUs.Group, Milli: sched.MilliGPU(pod.GPUs.Count) * pod.GPUs.Milli}
	case pod.GPUs.Count > 0:
		return group.QuotaCharge{Type: sched.TypeAnyGPU, Group: pod.GPUs.Group, Milli: sched.MilliGPU(pod.GPUs.Count) * pod.GPUs.Milli}
	case pod.GPUs.Part.Count > 0:
		return group.QuotaCharge{Type: sched.TypeAnyGPU, Milli: 1} // the smallest amount, because the size of a part depends on the node
	}
	return group.QuotaCharge{Type: sched.TypeCPU, Milli: sched.MilliGPU(pod.Requests.CPU)}
}

// Check returns an error if a scheduling decision exceeds a quota of the pod's tenant. The
// parameter `node` is the record of the chosen node, and tells the types of its GPUs. Only the
// committer calls Check, and only the committer makes decisions. So no other decision is made
// between a call of Check and the assignment of the pod.
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

// Observe charges tenants for what their assigned and bound pods hold. It is a subscriber of the
// state of the nodes.
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
		// Do not call q.freed here. A failed attempt to place a gang also undoes decisions. If
		// freed were called then, the queue would try the same gang again at once.
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

// charge computes the charges of a pod again if the pod must be charged, and otherwise removes the
// pod's charges.
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

// count stores the charges of a pod. The caller holds q.mu.
func (q *Quotas) count(assignment *nodestate.Assignment, node *sched.Node) {
	q.mu.pods[assignment.UID] = holder{assignment.Tenant, assignment.Group != ""}
	q.mu.quotas.Charge(assignment.UID, assignment.Tenant, chargesOf(assignment, node))
}

// drop removes the charges of a pod. The caller holds q.mu.
func (q *Quotas) drop(uid string) {
	delete(q.mu.pods, uid)
	q.mu.quotas.Return(uid)
}

// release removes the charges of a pod, if it was charged. It returns the pod's tenant, and whether
// this removal matters for a quota or for the status of a group.
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

// Holders returns how much each tenant holds of a group's GPUs.
func (q *Quotas) Holders(name string) map[string]sched.MilliGPU {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.quotas.Holders(name)
}
