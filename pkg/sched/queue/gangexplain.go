package queue

import (
	"maps"
	"slices"
	"time"
)

// Waited returns how long a pod has been pending. Pods that have to start together have one common
// entry in the inner queue (q.Queue), the representative of their gang. For such a pod, Waited
// returns how long the inner queue has had this entry. It returns false if the inner queue has
// neither the pod nor its gang.
func (q *GangQueue) Waited(uid string) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.Queue.Waited(q.queuedAs(uid))
}

// Explain describes the state and the position of a pending pod. A pod that has to start
// together with others of its gang has the position of the gang. Explain returns false
// if the pod is not pending.
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

// List describes all pending pods, sorted by type of resource and then in the order of
// their turns. Pods that have to start together have the position of their gang. Pods of
// incomplete gangs come last. For n pending pods, List takes O(n · log n) time if each
// type overlaps only a few other types. It holds the lock of q for O(n) of that time.
func (q *GangQueue) List() []Explanation {
	queued := q.Queue.List() // without the lock of q, because the scheduler needs this lock for each pod
	list, listed := make([]Explanation, 0, len(queued)), map[string]bool{}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range queued {
		g := q.mu.gangs[e.UID]
		switch {
		case g != nil:
			listed[g.id] = true
			for _, member := range g.members() {
				list = append(list, e.ofMember(g, member))
			}
		case e.Pod.Gang == nil:
			list = append(list, e)
		} // otherwise the gang has ended in the meantime
	}
	return append(list, q.listIncomplete(listed)...)
}

// listIncomplete describes the pods of incomplete gangs: gangs of which too few pods
// have been created. It leaves out the gangs whose IDs are in `listed`. The caller of
// listIncomplete and of the methods below must hold q.mu.
func (q *GangQueue) listIncomplete(listed map[string]bool) (list []Explanation) {
	for _, id := range slices.Sorted(maps.Keys(q.mu.gangs)) {
		if listed[id] {
			continue
		}
		g := q.mu.gangs[id]
		for _, member := range g.members() {
			if g.representative == nil && !member.single {
				list = append(list, q.explainIncomplete(g, member))
			}
		}
	}
	return list
}

// queuedAs returns the UID under which the inner queue (q.Queue) has a pod. This is the ID
// of the pod's gang if the gang has a representative, which is one entry for all pending
// pods of the gang. Otherwise it is the pod's own UID.
func (q *GangQueue) queuedAs(uid string) string {
	if gang := q.mu.byPod[uid]; gang != nil && gang.representative != nil {
		return gang.id
	}
	return uid
}

func (q *GangQueue) explainIncomplete(g *gang, m *member) Explanation {
	return Explanation{
		Type: m.Type, Priority: m.Priority, Tenant: m.Tenant, Score: q.env.Rank(m.Tenant, m.Type), Created: m.Created, Waited: q.env.Now().Sub(m.added),
		State: Gated, WaitsFor: ForGangPods, GangMissing: g.need() - len(g.pending),
	}.named(m)
}

// ofMember returns the explanation for pod m of gang g. It makes this explanation from
// e, which is the explanation for the inner queue's entry for g or for m.
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
