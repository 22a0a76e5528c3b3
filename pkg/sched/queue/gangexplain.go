package queue

import (
	"maps"
	"slices"
	"time"
)

// Waited returns how long a pod has been pending, or its gang with as many pods as
// have to start. It is false where it is not.
func (q *GangQueue) Waited(uid string) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.Queue.Waited(q.entry(uid))
}

// Explain returns why a pod is where it is: where its gang is. It is false where it
// is not pending.
func (q *GangQueue) Explain(uid string) (Explanation, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.mu.of[uid]
	if g == nil || g.pending[uid] == nil {
		return q.Queue.Explain(uid)
	}
	if e, ok := q.Queue.Explain(q.entry(uid)); ok {
		return ofGang(e, g, g.pending[uid]), true
	}
	return q.lacking(g, g.pending[uid]), true
}

// List explains all pending pods, by type and then in their order, each at its gang's
// place, and then those whose gang lacks some. It costs O(pods · log pods).
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
		for _, m := range g.members() {
			list = append(list, ofGang(e, g, m))
		}
	}
	return append(list, q.allLacking()...)
}

// allLacking explains those whose gang is not in the queue. It needs q.mu, as below.
func (q *GangQueue) allLacking() (list []Explanation) {
	for _, id := range slices.Sorted(maps.Keys(q.mu.gangs)) {
		g := q.mu.gangs[id]
		for _, m := range g.members() {
			if g.stand == nil && !m.alone {
				list = append(list, q.lacking(g, m))
			}
		}
	}
	return list
}

// entry returns what stands in the queue for a pod.
func (q *GangQueue) entry(uid string) string {
	if g := q.mu.of[uid]; g != nil && g.stand != nil {
		return g.id
	}
	return uid
}

// ofGang makes a gang's explanation one of its pods'.
func ofGang(e Explanation, g *gang, m *member) Explanation {
	if g.stand != nil {
		e.Together = g.stand.Gang.Need
	}
	return named(e, m)
}

func (q *GangQueue) lacking(g *gang, m *member) Explanation {
	e := Explanation{
		Type: m.Type, Priority: m.Priority, Tenant: m.Tenant, Created: m.Created, Waited: q.env.Now().Sub(m.since),
		For: ItsGang, Lacks: g.need() - len(g.pending),
	}
	return named(e, m)
}

func named(e Explanation, m *member) Explanation {
	e.Pod, e.UID, e.Name = m.Pod, m.Pod.UID, m.Pod.String()
	return e
}
