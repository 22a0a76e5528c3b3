package queue

import (
	"context"
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// GangQueue is a Queue that returns the pods of a gang together. The embedded Queue is called the
// inner queue here. While enough pods of a gang are pending and wait to start together, the inner
// queue has one entry for all of them: a representative, whose UID is the gang's ID. Each pod is
// added with the minimum of its gang, which is the number of pods that have to start together (Need
// in sched.Pod.Gang, where Members is empty). Pods that are bound or have succeeded count as
// started. So the number of pods that still have to start together is the minimum less the number
// of started pods. This difference, in the left column of the table, decides where the pending pods
// of the gang are:
//
//	still to start    the pending pods
//	> pending         are not in the inner queue: the gang is incomplete
//	1 … pending       are the Members of the representative that Next returns
//	≤ 0               have turns of their own, each without a gang
//
// A pod that is placed stays pending until Bound is called for it. If all pending pods of the gang
// were placed, the gang stays in flight until the number of pods that still have to start together
// is 0 or less. A pod whose Binding fails is retried together with the other pending pods of its
// gang. If a bound pod ends, a new pod may be created in its place. The new pod need not wait for a
// start of the whole gang, because the pods that are still bound count as started.
//
// The methods of GangQueue may be called from any goroutine. Its lock is taken before the lock of
// the inner queue. For a gang of n pods with few different minima and types, a call that adds or
// removes a pod, or records that a pod is bound, takes O(log n) time. If the pending pods then
// move from one row of the table to another, the call takes O(n · log n) time. The members of the
// representative are listed only when the turn of the gang comes, which takes O(n · log n) time.
type GangQueue struct {
	*Queue
	mu struct {
		sync.Mutex
		gangs     map[string]*gang // by ID
		byPod     map[string]*gang // the gang of each pod that is pending or bound, by UID of the pod
		succeeded map[string]*gang // the gang of each pod that has succeeded, by UID of the pod; later calls of Add and Bound for these pods are ignored
	}
}

// NewGangQueue returns a GangQueue whose inner queue is q.
func NewGangQueue(q *Queue) *GangQueue {
	gangs := &GangQueue{Queue: q}
	gangs.mu.gangs, gangs.mu.byPod, gangs.mu.succeeded = map[string]*gang{}, map[string]*gang{}, map[string]*gang{}
	return gangs
}

// Add adds a pod, or replaces a pending pod whose requests have changed.
func (q *GangQueue) Add(e Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.Pod.Gang == nil {
		q.leave(e.Pod.UID, "")
		q.Queue.Add(e)
		return
	}
	if q.mu.succeeded[e.Pod.UID] != nil {
		return
	}
	g := q.join(e.Pod.UID, e.Pod.Gang.ID)
	q.withdraw(g, e.Pod.UID)
	added := q.added(g, e.Pod.UID)
	g.remove(e.Pod.UID)
	g.add(&member{Entry: e, added: added})
	q.reconcile(g)
}

// Observe handles an event of nodestate.State. It removes the event's pod from the pending pods if
// the pod is bound, has ended or was deleted.
func (q *GangQueue) Observe(event nodestate.Event) {
	switch event.Kind {
	case nodestate.Bound:
		q.Bound(event.UID, event.Now.Gang)
	case nodestate.Released:
		q.Remove(event.UID)
	}
}

// Bound records that a pod is bound. The argument `id` is the ID of the pod's gang, or "" if the pod
// is in no gang.
func (q *GangQueue) Bound(uid, id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if id == "" {
		q.remove(uid)
		return
	}
	if q.mu.succeeded[uid] != nil {
		return
	}
	g := q.join(uid, id)
	if g.bound[uid] {
		return
	}
	q.withdraw(g, uid)
	g.remove(uid)
	g.bound[uid] = true
	q.reconcile(g)
}

// Remove removes a pod that has failed or was deleted.
func (q *GangQueue) Remove(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(uid)
}

// Succeeded records that a pod has succeeded. The argument `id` is the ID of the pod's gang, and
// `owner` is the pod's sched.Gang.Owner. Until Forgotten is called for the pod, it counts as a
// started pod of the gang, but only for pending pods that have the same owner (see gang.need).
func (q *GangQueue) Succeeded(uid, id, owner string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.succeeded[uid] != nil {
		return
	}
	q.remove(uid)
	g := q.gang(id)
	if g.succeeded[owner] == nil {
		g.succeeded[owner] = map[string]bool{}
	}
	g.succeeded[owner][uid] = true
	q.mu.succeeded[uid] = g
	q.reconcile(g)
}

// Forgotten records that a succeeded pod was deleted. It does nothing if Succeeded was not called
// for the pod.
func (q *GangQueue) Forgotten(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.mu.succeeded[uid]
	if g == nil {
		return
	}
	delete(q.mu.succeeded, uid)
	for owner, uids := range g.succeeded {
		if delete(uids, uid); len(uids) == 0 {
			delete(g.succeeded, owner)
		}
	}
	q.reconcile(g)
}

// Next waits until it is the turn of a pod or a gang, and returns the pod or the representative of
// the gang. It returns an error only if ctx has ended.
func (q *GangQueue) Next(ctx context.Context) (*sched.Pod, error) {
	pod, err := q.Queue.Next(ctx)
	if err != nil {
		return nil, err
	}
	return q.complete(pod), nil
}

// Poll returns the pod or the representative that Next would return, or nil if Next would have to
// wait.
func (q *GangQueue) Poll() *sched.Pod {
	pod := q.Queue.Poll()
	if pod == nil {
		return nil
	}
	return q.complete(pod)
}

// complete is called with the pod that the inner queue has returned. If the pod is the
// representative of a gang, the method returns the newest representative, with its members. It
// returns any other pod as it is.
func (q *GangQueue) complete(pod *sched.Pod) *sched.Pod {
	if pod.Gang == nil {
		return pod
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.representative(pod)
}

// MarkUnschedulable returns a pod or a gang to the queue, because no nodes suit it. freedSeq is the
// value of Env.FreedSeq when the nodes were read.
func (q *GangQueue) MarkUnschedulable(pod *sched.Pod, freedSeq uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.representative(pod)
	q.Queue.MarkUnschedulable(pod, freedSeq)
}

// Requeue returns a pod or a gang to the queue, because other pods took its nodes, or because these
// nodes refused it (see Queue.Requeue).
func (q *GangQueue) Requeue(pod *sched.Pod, why sched.Reason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Queue.Requeue(q.representative(pod), why)
}

// Permit reports whether a pod or a gang may be placed now (see Queue.Permit). If the pods of a
// gang have changed since Next returned the gang, Permit returns false, and the gang is retried.
func (q *GangQueue) Permit(pod *sched.Pod) (ok, awaited bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if newest := q.representative(pod); newest != pod && pod.Gang != nil {
		q.Queue.Requeue(newest, sched.Reason{})
		return false, false
	}
	return q.Queue.Permit(pod)
}

// Placed records that an awaited pod or gang (see Queue.Permit) has been assigned its nodes. The
// pods behind it may then be scheduled.
func (q *GangQueue) Placed(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Queue.Placed(q.representative(pod))
}

// Undone returns a pod to the queue, because its Binding failed. A pod of a gang returns together
// with the other pending pods of the gang.
func (q *GangQueue) Undone(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Queue.Undone(q.representative(pod))
}

// The caller of the methods below must hold q.mu.

func (q *GangQueue) remove(uid string) {
	q.leave(uid, "")
	q.Queue.Remove(uid)
}

// join adds a pod to a gang, and removes it from any other gang.
func (q *GangQueue) join(uid, id string) *gang {
	q.leave(uid, id)
	g := q.gang(id)
	q.mu.byPod[uid] = g
	return g
}

// gang returns the gang with the given ID. If there is no such gang yet, it creates one.
func (q *GangQueue) gang(id string) *gang {
	g, ok := q.mu.gangs[id]
	if !ok {
		g = newGang(id)
		q.mu.gangs[id] = g
	}
	return g
}

// leave removes a pod from its gang, unless the ID of this gang equals the argument `id`. It also
// removes the gang's representative from the inner queue. If the other pods of the gang still have
// to start together, it adds a new representative. It does not keep the old representative, because
// that one may be in flight, with the removed pod as one of its Members. Nobody reports how the
// attempt to schedule a removed pod ended. So the old representative could stay in flight forever.
func (q *GangQueue) leave(uid, id string) {
	gang := q.mu.byPod[uid]
	if gang == nil || gang.id == id {
		return
	}
	q.withdraw(gang, uid)
	delete(q.mu.byPod, uid)
	gang.remove(uid)
	delete(gang.bound, uid)
	q.withdrawRepresentative(gang)
	q.reconcile(gang)
}

// added returns the time at which a pod was added to the gang, or the present time if the pod is
// new.
func (q *GangQueue) added(g *gang, uid string) time.Time {
	if m := g.pending[uid]; m != nil {
		return m.added
	}
	return q.env.Now()
}

// reconcile adds a gang's pods to the inner queue, or removes them, so that the table in the
// comment of GangQueue holds for the gang.
func (q *GangQueue) reconcile(g *gang) {
	need := g.need()
	switch {
	case len(g.pending) > 0 && need <= 0:
		q.withdrawRepresentative(g)
		q.addSingly(g)
	case len(g.pending) == 0 || len(g.pending) < need:
		q.withdrawRepresentative(g)
		q.withdrawSingle(g)
	default:
		q.withdrawSingle(g)
		entry := g.represent(need)
		g.representative = entry.Pod
		q.Queue.Add(entry)
	}
	if g.empty() {
		delete(q.mu.gangs, g.id)
	}
}

// addSingly adds an entry for each pending pod of a gang to the inner queue. It leaves out the
// pods that have an entry of their own already.
func (q *GangQueue) addSingly(g *gang) {
	if !g.single {
		g.single, g.fresh = true, g.members()
	}
	for _, m := range g.fresh {
		if g.pending[m.Pod.UID] == m && !m.single {
			m.single = true
			q.Queue.Add(m.alone())
		}
	}
	g.fresh = nil
}

// withdraw removes a pod of a gang from the inner queue if the pod has an entry of its own there.
func (q *GangQueue) withdraw(g *gang, uid string) {
	if m := g.pending[uid]; m != nil && m.single {
		m.single = false
		q.Queue.Remove(uid)
	}
}

func (q *GangQueue) withdrawSingle(g *gang) {
	if !g.single {
		return
	}
	g.single, g.fresh = false, nil
	for uid := range g.pending {
		q.withdraw(g, uid)
	}
}

func (q *GangQueue) withdrawRepresentative(g *gang) {
	if g.representative != nil {
		g.representative = nil
		q.Queue.Remove(g.id)
	}
}

// representative returns the newest representative of a gang. The argument is any pod of the gang,
// or an earlier representative of the gang. If the argument is a pod in no gang, or its gang has no
// representative, the method returns the argument. A representative gets its list of Members only
// after Next has returned it from the inner queue. If the newest representative is in flight and
// has no Members yet, the method adds them.
func (q *GangQueue) representative(pod *sched.Pod) *sched.Pod {
	g := q.mu.byPod[pod.UID]
	if g == nil {
		g = q.mu.gangs[pod.UID]
	}
	if g == nil || g.representative == nil {
		return pod
	}
	if g.representative.Gang.Members == nil {
		if complete := g.complete(); q.replace(complete) {
			g.representative = complete
		}
	}
	return g.representative
}
