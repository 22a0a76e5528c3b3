package queue

import (
	"maps"
	"slices"
	"time"
)

// Waited returns how long a pod has been pending. For a pod of a gang, it returns how
// long the gang has been complete. It returns false if neither the pod nor its gang is
// in the inner queue.
func (q *GangQueue) Waited(uid string) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.Queue.Waited(q.queuedAs(uid))
}

// Explain describes a pending pod. A pod of a gang has the position of the gang. Explain
// returns false if the pod is not pending.
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

// List describes all pending pods, by type and then in the order of their turns. Each
// pod of a gang has the position of the gang. Pods of incomplete gangs come last. For n
// pending pods, and types that each overlap only a few types, List takes O(n · log n)
// time.
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

// listIncomplete describes the pods of incomplete gangs. It needs q.mu, as do the
// methods below.
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

// queuedAs returns the UID under which the inner queue has a pod: the ID of its gang, or
// its own UID.
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

// ofMember turns the explanation of a gang's representative into the explanation of one
// of the gang's pods.
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
