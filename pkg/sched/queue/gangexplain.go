package queue

import (
	"maps"
	"slices"
	"time"
)

// Waited returns how long a pod has been pending, or since when its gang has been
// complete. It is false if the pod is not in the inner queue.
func (q *GangQueue) Waited(uid string) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.Queue.Waited(q.queuedAs(uid))
}

// Explain explains a pending pod by its gang's position, and returns false if it is not
// pending.
func (q *GangQueue) Explain(uid string) (Explanation, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	gang := q.mu.byPod[uid]
	if gang == nil || gang.pending[uid] == nil {
		return q.Queue.Explain(uid)
	}
	if e, ok := q.Queue.Explain(q.queuedAs(uid)); ok {
		return e.ofMember(gang, gang.pending[uid]), true
	}
	return q.explainIncomplete(gang, gang.pending[uid]), true
}

// List explains all pending pods, by type and then in their order, each at its gang's
// position, and then those of incomplete gangs. It costs O(pods · log pods).
func (q *GangQueue) List() []Explanation {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []Explanation
	for _, e := range q.Queue.List() {
		g := q.mu.gangs[e.UID]
		if g == nil {
			list = append(list, e)
			continue
		}
		for _, member := range g.members() {
			list = append(list, e.ofMember(g, member))
		}
	}
	return append(list, q.listIncomplete()...)
}

// listIncomplete explains the pods of incomplete gangs. It needs q.mu, as do the methods
// below.
func (q *GangQueue) listIncomplete() (list []Explanation) {
	for _, id := range slices.Sorted(maps.Keys(q.mu.gangs)) {
		g := q.mu.gangs[id]
		for _, member := range g.members() {
			if g.representative == nil && !member.single {
				list = append(list, q.explainIncomplete(g, member))
			}
		}
	}
	return list
}

// queuedAs returns the UID under which the inner queue has a pod.
func (q *GangQueue) queuedAs(uid string) string {
	if gang := q.mu.byPod[uid]; gang != nil && gang.representative != nil {
		return gang.id
	}
	return uid
}

func (q *GangQueue) explainIncomplete(g *gang, m *member) Explanation {
	return Explanation{
		Type: m.Type, Priority: m.Priority, Tenant: m.Tenant, Created: m.Created, Waited: q.env.Now().Sub(m.added),
		State: Gated, WaitsFor: ForGangPods, GangMissing: g.need() - len(g.pending),
	}.named(m)
}

// ofMember makes the explanation of a representative that of one of its pods.
func (e Explanation) ofMember(g *gang, m *member) Explanation {
	if g.representative != nil {
		e.GangSize = g.representative.Gang.Need
	}
	return e.named(m)
}

func (e Explanation) named(m *member) Explanation {
	e.Pod, e.UID, e.Name = m.Pod, m.Pod.UID, m.Pod.String()
	return e
}
