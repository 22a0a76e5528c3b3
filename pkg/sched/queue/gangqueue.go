package queue

import (
	"context"
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// GangQueue is a Queue that returns the pods of a gang together. The embedded Queue, here called
// the inner queue, has one entry for all pending pods of a gang: a representative, whose UID is
// the gang's ID. Pods are added with the minimum of their gang: how many of its pods have to start
// together (sched.Pod.Gang, with Need but without Members). How many pods still have to start
// together is the minimum minus the number of pods that are bound or have succeeded. This number
// decides how the inner queue has the pending pods of the gang:
//
//	still to start    the pending pods
//	> pending         are not in the inner queue: the gang is incomplete
//	1 … pending       are the Members of the representative that Next returns
//	≤ 0               have turns of their own, each without a gang
//
// A pod that is placed stays pending until Bound is called for it. Until then the gang is in
// flight. A pod whose Binding fails is retried together with the other pending pods of its gang.
// If a bound pod ends and is created again, the pods that are still bound count for the new pod,
// so it need not wait until the whole gang starts again.
//
// Its methods may be called from any goroutine. Its lock is taken before the lock of the inner
// queue. For a gang of n pods, a call that adds or removes a pod, or records that it is bound,
// takes O(log n) time, because the members of the representative are listed only when the turn of
// the gang comes. To list them takes O(n · log n) time.
type GangQueue struct {
	*Queue
	mu struct {
		sync.Mutex
		gangs     map[string]*gang // by ID
		byPod     map[string]*gang // by the UID of a pod that is pending or bound
		succeeded map[string]*gang // by the UID of a pod that has succeeded; later calls of Add and Bound for the pod are ignored
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

// Observe removes pods that are bound, have ended or were deleted. It is meant to subscribe to the
// events of nodestate.State.
func (q *GangQueue) Observe(event nodestate.Event) {
	switch event.Kind {
	case nodestate.Bound:
		q.Bound(event.UID, event.Now.Gang)
	case nodestate.Released:
		q.Remove(event.UID)
	}
}

// Bound records that a pod is bound. id is the ID of its gang, or "" if it has none.
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

// Succeeded records that a pod of the gang id has succeeded. owner is the pod's sched.Gang.Owner.
// Until Forgotten is called for the pod, it counts as started for the pods of the same owner.
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

// Forgotten records that a pod was deleted for which Succeeded had been called.
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

// Poll does the same as Next, but does not wait. It returns nil if it is not the turn of any pod
// or gang.
func (q *GangQueue) Poll() *sched.Pod {
	pod := q.Queue.Poll()
	if pod == nil {
		return nil
	}
	return q.complete(pod)
}

// complete returns the newest representative of a gang whose turn has come, with its members.
func (q *GangQueue) complete(pod *sched.Pod) *sched.Pod {
	if pod.Gang == nil {
		return pod
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.representative(pod)
}

// MarkUnschedulable returns a pod or a gang to the queue that fitted no nodes. freedSeq is the
// value of Env.FreedSeq when the nodes were read.
func (q *GangQueue) MarkUnschedulable(pod *sched.Pod, freedSeq uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.representative(pod)
	q.Queue.MarkUnschedulable(pod, freedSeq)
}

// Requeue returns a pod or a gang to the queue, because other pods took its nodes.
func (q *GangQueue) Requeue(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Queue.Requeue(q.representative(pod))
}

// Permit reports whether a pod, or a gang, may be placed now. If the pods of a gang have changed
// since Next returned it, Permit returns false, and the gang is retried.
func (q *GangQueue) Permit(pod *sched.Pod) (ok, awaited bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if newest := q.representative(pod); newest != pod && pod.Gang != nil {
		q.Queue.Requeue(newest)
		return false, false
	}
	return q.Queue.Permit(pod)
}

// Placed records that an awaited pod or gang has been assigned its nodes. The pods behind it may
// then be scheduled.
func (q *GangQueue) Placed(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Queue.Placed(q.representative(pod))
}

// Undone returns a pod to the queue whose Binding failed. A pod of a gang returns together with
// the other pending pods of the gang.
func (q *GangQueue) Undone(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Queue.Undone(q.representative(pod))
}

// The methods below need q.mu.

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

// gang returns the gang with an ID. It creates the gang if the queue has no pod of it.
func (q *GangQueue) gang(id string) *gang {
	g, ok := q.mu.gangs[id]
	if !ok {
		g = newGang(id)
		q.mu.gangs[id] = g
	}
	return g
}

// leave removes a pod from its gang, unless the ID of the gang is id. It then removes the gang's
// representative from the inner queue, and adds a new one if the other pods still need one. If the
// old representative stayed in the queue, it could be in flight forever, because nobody reports
// the result of the attempt for the pod that left.
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

// added returns when a pod was added to the gang, or the present time if the pod is new.
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

// addSingly adds each pending pod to the inner queue by itself, if it is not there yet.
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

// withdraw removes a pod from the inner queue if it is there by itself.
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

// representative returns the newest representative of a gang, given a pod of the gang or an
// earlier representative. If the gang has no representative, it returns the given pod. If the
// newest representative has no Members yet and is in flight, the members are added.
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
