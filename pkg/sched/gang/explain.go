package gang

import (
	"maps"
	"slices"
	"time"

	"github.com/numalet/numalet/pkg/sched/queue"
)

// Waited returns how long a pod has been pending, or its gang with as many pods as
// have to start. It is false where it is not.
func (q *Queue) Waited(uid string) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.Queue.Waited(q.entry(uid))
}

// Explain returns why a pod is where it is: where its gang is. It is false where it
// is not pending.
func (q *Queue) Explain(uid string) (queue.Explanation, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.mu.of[uid]
	if g == nil || g.pending[uid] == nil {
		return q.Queue.Explain(uid)
	}
	if e, ok := q.Queue.Explain(q.entry(uid)); ok {
		return of(e, g, g.pending[uid]), true
	}
	return q.lacking(g, g.pending[uid]), true
}

// List explains all pending pods, by type and then in their order, each at its gang's
// place, and then those whose gang lacks some. It costs O(pods · log pods).
func (q *Queue) List() []queue.Explanation {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []queue.Explanation
	for _, e := range q.Queue.List() {
		g := q.mu.gangs[e.UID]
		if g == nil {
			list = append(list, e)
			continue
		}
		for _, m := range g.members() {
			list = append(list, of(e, g, m))
		}
	}
	return append(list, q.allLacking()...)
}

// allLacking explains those whose gang is not in the queue. It needs q.mu, as below.
func (q *Queue) allLacking() (list []queue.Explanation) {
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
func (q *Queue) entry(uid string) string {
	if g := q.mu.of[uid]; g != nil && g.stand != nil {
		return g.id
	}
	return uid
}

// of makes a gang's explanation one of its pods'.
func of(e queue.Explanation, g *gang, m *member) queue.Explanation {
	if g.stand != nil {
		e.Together = g.stand.Gang.Need
	}
	return named(e, m)
}

func (q *Queue) lacking(g *gang, m *member) queue.Explanation {
	e := queue.Explanation{
		Type: m.Type, Priority: m.Priority, Tenant: m.Tenant, Created: m.Created, Waited: q.now().Sub(m.since),
		For: queue.ItsGang, Lacks: g.need() - len(g.pending),
	}
	return named(e, m)
}

func named(e queue.Explanation, m *member) queue.Explanation {
	e.Pod, e.UID, e.Name = m.Pod, m.Pod.UID, m.Pod.String()
	return e
}
