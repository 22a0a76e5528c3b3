package queue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// Entry is a pending pod, and what its turn depends on.
type Entry struct {
	Pod      *sched.Pod
	Priority int32
	Created  time.Time
	Type     fairshare.Type // of resource; types take turns
	Tenant   string
}

// Env is what the queue needs of the world. After calls back from a goroutine
// of its own, as time.AfterFunc does. FreedSeq is how often anything has ever been
// given back (nodestate.State.FreedSeq), Rank a tenant's score per weight now: of two
// tenants' pods, those of the smaller come first; nil is 0 for all. Neither may call
// the queue.
type Env struct {
	Now      func() time.Time
	After    func(time.Duration, func())
	FreedSeq func() uint64
	Rank     func(tenant string, t fairshare.Type) float64
}

// Options are how long pods wait. Zeros are the defaults.
type Options struct {
	Backoff sched.Backoff // of a pod that was tried in vain: 10 ms to 10 s
	Wait    time.Duration // for those ahead, at most: 30 s
	// Strict closes a type to all pods behind one that no node suits, until that one
	// yields. Otherwise they pass it.
	Strict bool
}

// Queue has the pending pods, each in one State. Its methods may be called from
// any goroutine.
//
//	        Add            Next         Placed
//	(new) ───────► Ready ─────────► Out ───────► (written down) ──► Remove: bound or gone
//	               ▲ ▲ ▲            │ │ │
//	               │ │ └── Delayed ◄┘ │ │    Requeue: others were faster
//	               │ └──── Waiting ◄──┘ │    Permit: one is ahead; Next takes it again after that
//	               └────── Parked  ◄────┘    Park: no node suits it; Wake, Stir: a change helps
//
// Pods of one type are in order (package comment), and types take turns. A pod that
// has been permitted to be bound, until it is Placed, and with Strict one that is
// Parked, keeps those behind it, of its type, from being taken, and from being
// permitted; not those before it. They wait where they are, so there is nothing that
// spins. Who is taken before another and asks for the permission after it, or
// without asking, may still overtake it: that is for many to work at one time.
//
// The back-off of a pod that a change may help is for when there is much to do:
// where no pod is ready, Next takes one of those before its time. To let all wait
// was rejected: 500 pods that wanted two nodes were woken together whenever
// something ended, all but one tried in vain, and then all slept for Most beside
// CPUs that were free. To let all try was rejected, too: it costs O(parked) tries
// for each that ends, so after a few in vain the others wait. With Strict, the first
// of the parked ones does not back off. A pod that lost its nodes to others, or could
// not be bound, does wait: to try at once might go on for ever.
//
// A pod that is removed while it is out stays removed: what comes back of it is
// dropped. O(log pods + types) a pod, O(log tenants) a score (Rescore), and O(parked)
// a Wake or Stir.
type Queue struct {
	env     Env
	options Options

	mu struct {
		sync.Mutex
		items map[string]*item // by UID
		kinds []*kind          // that have pods
		turn  int              // index of the kind that had its turn last
		count Depth
		stirs uint64 // how often Stir or Ease was called
	}
	changed sync.Cond
}

// New returns an empty queue.
func New(env Env, o Options) *Queue {
	o.Backoff = o.Backoff.Or(sched.Backoff{First: 10 * time.Millisecond, Most: 10 * time.Second})
	if o.Wait <= 0 {
		o.Wait = 30 * time.Second
	}
	if env.Rank == nil {
		env.Rank = func(string, fairshare.Type) float64 { return 0 }
	}
	q := &Queue{env: env, options: o}
	q.mu.items, q.mu.turn = map[string]*item{}, -1
	q.changed.L = &q.mu
	return q
}

// Add enters a pod, or says that a pending one asks for something else now: its
// turn comes at once, unless it is out.
func (q *Queue) Add(e Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.mu.items[e.Pod.UID]
	if !ok {
		it = &item{since: q.env.Now()}
		q.mu.items[e.Pod.UID] = it
	}
	q.leave(it)
	q.quit(it)
	it.Entry, it.tries, it.lost, it.yields, it.blocked = e, 0, 0, false, time.Time{}
	q.join(it)
	if it.state == Out {
		q.enter(it, Out)
		return
	}
	q.enter(it, Ready)
}

// Remove forgets a pod: it is bound, or gone.
func (q *Queue) Remove(uid string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.mu.items[uid]
	if !ok {
		return
	}
	q.leave(it)
	q.quit(it)
	q.enter(it, none)
	delete(q.mu.items, uid)
	q.changed.Broadcast()
}

// Next waits for the pod whose turn it is. Its only error is ctx's.
func (q *Queue) Next(ctx context.Context) (*sched.Pod, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for sleeps := false; ctx.Err() == nil; sleeps = true {
		if pod := q.take(); pod != nil {
			return pod, nil
		}
		if !sleeps {
			defer context.AfterFunc(ctx, q.wakeSleepers)()
		}
		q.changed.Wait()
	}
	return nil, fmt.Errorf("wait for a pending pod: %w", ctx.Err())
}

// Poll is Next without waiting: it returns nil where it is nobody's turn.
func (q *Queue) Poll() *sched.Pod {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take()
}

func (q *Queue) wakeSleepers() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

// take takes out the pod whose turn it is, of the next type that has one, or returns
// nil. One that has waited for others may be bound now, one that was blocked still.
// It needs q.mu.
func (q *Queue) take() *sched.Pod {
	for range q.mu.kinds {
		q.mu.turn = (q.mu.turn + 1) % len(q.mu.kinds)
		if it := q.mu.kinds[q.mu.turn].next(); it != nil {
			it.permitted = it.state == Waiting || it.state == Parked
			it.stirs = q.mu.stirs
			q.leave(it)
			q.enter(it, Out)
			return it.Pod
		}
	}
	return nil
}

// Waited returns how long a pod has been pending, and false where it is not.
func (q *Queue) Waited(uid string) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.mu.items[uid]
	if !ok {
		return 0, false
	}
	return q.env.Now().Sub(it.since), true
}

// State returns where a pod is, and false where it is not pending.
func (q *Queue) State(uid string) (State, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.mu.items[uid]
	if !ok {
		return none, false
	}
	return it.state, true
}
