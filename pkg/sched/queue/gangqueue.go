package queue

import (
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// GangQueue is a Queue in which the pods of a gang have one turn, which the gang's ID stands
// for in place of a UID. A pod that says of which gang it is (sched.Pod.Gang, with
// its minimum as Need and without Members)
//
//   - is not in the queue, as long as fewer are pending than still have to start;
//   - else is one of the Members of the pod that Next returns;
//   - and has a turn of its own, once as many as have to start are bound, or have
//     succeeded and were of its owner.
//
// A pod that is placed stays pending until it is told to be Bound: until then the gang
// is out, and what cannot be bound is tried again with those that are pending. So is a
// bound pod that ends, and comes anew: it counts on the others that are bound.
//
// Its methods may be called from any goroutine. What it is told of a gang costs
// O(members · log members), for the pod that stands for them is immutable.
type GangQueue struct {
	*Queue
	mu struct {
		sync.Mutex
		gangs map[string]*gang // by ID
		of    map[string]*gang // by the UIDs of those pods that are pending or bound
		past  map[string]*gang // by the UIDs of those that have succeeded, whatever else is said of them later
	}
}

// NewGangQueue returns a queue that puts gangs into another one.
func NewGangQueue(q *Queue) *GangQueue {
	together := &GangQueue{Queue: q}
	together.mu.gangs, together.mu.of, together.mu.past = map[string]*gang{}, map[string]*gang{}, map[string]*gang{}
	return together
}

// Add enters a pod, or says that a pending one asks for something else now.
func (q *GangQueue) Add(e Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.Pod.Gang == nil {
		q.leave(e.Pod.UID, "")
		q.Queue.Add(e)
		return
	}
	if q.mu.past[e.Pod.UID] != nil {
		return
	}
	g := q.join(e.Pod.UID, e.Pod.Gang.ID)
	q.call(g, e.Pod.UID)
	g.pending[e.Pod.UID] = &member{Entry: e, since: q.since(g, e.Pod.UID)}
	q.settle(g)
}

// Bound says that a pod is bound, of which gang it is, "" for none.
func (q *GangQueue) Bound(uid, id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if id == "" {
		q.remove(uid)
		return
	}
	if q.mu.past[uid] != nil {
		return
	}
	g := q.join(uid, id)
	if g.bound[uid] {
		return
	}
	q.call(g, uid)
	delete(g.pending, uid)
	g.bound[uid] = true
	q.settle(g)
}

// Remove forgets a pod: it has ended, or is not to be placed any more.
func (q *GangQueue) Remove(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(uid)
}

// These methods need q.mu.

func (q *GangQueue) remove(uid string) {
	q.leave(uid, "")
	q.Queue.Remove(uid)
}

// join makes a pod one of a gang's, and of no other's.
func (q *GangQueue) join(uid, id string) *gang {
	q.leave(uid, id)
	g := q.gang(id)
	q.mu.of[uid] = g
	return g
}

// gang returns a gang, made if nothing is known of it.
func (q *GangQueue) gang(id string) *gang {
	g, ok := q.mu.gangs[id]
	if !ok {
		g = &gang{id: id, pending: map[string]*member{}, bound: map[string]bool{}, succeeded: map[string]map[string]bool{}}
		q.mu.gangs[id] = g
	}
	return g
}

// leave takes a pod out of its gang, unless it is that one. The others come to the
// queue anew: if they are out, nobody else would tell what came of the one that left.
func (q *GangQueue) leave(uid, id string) {
	g := q.mu.of[uid]
	if g == nil || g.id == id {
		return
	}
	q.call(g, uid)
	delete(q.mu.of, uid)
	delete(g.pending, uid)
	delete(g.bound, uid)
	q.withdraw(g)
	q.settle(g)
}

// since returns since when a pod has been pending.
func (q *GangQueue) since(g *gang, uid string) time.Time {
	if m := g.pending[uid]; m != nil {
		return m.since
	}
	return q.env.Now()
}

// call takes back the turn that a pod has of its own.
func (q *GangQueue) call(g *gang, uid string) {
	if m := g.pending[uid]; m != nil && m.alone {
		m.alone = false
		q.Queue.Remove(uid)
	}
}

// settle has those in the queue who belong there now.
func (q *GangQueue) settle(g *gang) {
	need := g.need()
	switch {
	case len(g.pending) > 0 && need <= 0:
		q.withdraw(g)
		q.part(g)
	case len(g.pending) == 0 || len(g.pending) < need:
		q.withdraw(g)
		q.callAll(g)
	default:
		q.callAll(g)
		entry := g.gather(need)
		g.stand = entry.Pod
		q.Queue.Add(entry)
	}
	if g.empty() {
		delete(q.mu.gangs, g.id)
	}
}

// part gives each pending pod a turn of its own.
func (q *GangQueue) part(g *gang) {
	for _, m := range g.members() {
		if !m.alone {
			m.alone = true
			q.Queue.Add(m.single())
		}
	}
}

func (q *GangQueue) callAll(g *gang) {
	for uid := range g.pending {
		q.call(g, uid)
	}
}

func (q *GangQueue) withdraw(g *gang) {
	if g.stand != nil {
		g.stand = nil
		q.Queue.Remove(g.id)
	}
}

// standing returns the pod that is in the queue for a pod, or for a gang by its ID:
// itself, if none else is.
func (q *GangQueue) standing(pod *sched.Pod) *sched.Pod {
	g := q.mu.of[pod.UID]
	if g == nil {
		g = q.mu.gangs[pod.UID]
	}
	if g == nil || g.stand == nil {
		return pod
	}
	return g.stand
}

// Requeue takes back a pod that is to be tried again, or all of a gang of which one
// could not be bound.
func (q *GangQueue) Requeue(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Queue.Requeue(q.standing(pod))
}

// Permit reports whether a pod, or all of a gang, may be placed now. A gang of which
// another pod came or went meanwhile may not, and is tried again.
func (q *GangQueue) Permit(pod *sched.Pod) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if newest := q.standing(pod); newest != pod && pod.Gang != nil {
		q.Queue.Requeue(newest)
		return false
	}
	return q.Queue.Permit(pod)
}

// Placed says that a pod has its place; of a gang, the first of those that start.
func (q *GangQueue) Placed(pod *sched.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Queue.Placed(q.standing(pod))
}

// Succeeded says that a pod of a gang has succeeded, and whose it was. Those of its
// owner count on it as on one that is bound, until it is Forgotten.
func (q *GangQueue) Succeeded(uid, id, owner string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.past[uid] != nil {
		return
	}
	q.remove(uid)
	g := q.gang(id)
	if g.succeeded[owner] == nil {
		g.succeeded[owner] = map[string]bool{}
	}
	g.succeeded[owner][uid] = true
	q.mu.past[uid] = g
	q.settle(g)
}

// Forgotten says that there is no longer a pod that had Succeeded.
func (q *GangQueue) Forgotten(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.mu.past[uid]
	if g == nil {
		return
	}
	delete(q.mu.past, uid)
	for owner, uids := range g.succeeded {
		if delete(uids, uid); len(uids) == 0 {
			delete(g.succeeded, owner)
		}
	}
	q.settle(g)
}
