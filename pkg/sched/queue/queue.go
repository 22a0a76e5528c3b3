package queue

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// Entry is a pending pod, and what its turn depends on.
type Entry struct {
	Pod      *sched.Pod
	Priority int32
	Created  time.Time
}

// Env is what the queue needs of the world. After calls back from a goroutine
// of its own, as time.AfterFunc does. Gains is how often anything has ever been
// given back (center.Center.Gains); it must not call the queue.
type Env struct {
	Now   func() time.Time
	After func(time.Duration, func())
	Gains func() uint64
}

// Queue has the pending pods, each in one State. Its methods may be called from
// any goroutine.
//
//	        Add                    Next
//	(new) ───────► Ready ─────────────────────► Out ──► Remove: bound or gone
//	                 ▲ ▲   after the back-off    │ │
//	                 │ └───────── Delayed ◄──────┘ │ Park: no node suits it
//	                 │               ▲  Requeue    ▼
//	                 └───────────────┴────────── Parked
//	                        Wake, Stir: a change helps
//
// The back-off of a pod that a change may help is for when there is much to do:
// where no pod is ready, Next takes one of those before its time. To let all wait
// was rejected: 500 pods that wanted two nodes were woken together whenever
// something ended, all but one tried in vain, and then all slept for Most beside
// CPUs that were free. To let all try was rejected, too: it costs O(parked) tries
// for each that ends, so after a few in vain the others wait. A pod that lost its nodes to others, or could not be bound,
// does wait: to try at once might go on for ever.
//
// A pod that is removed while it is out stays removed: what comes back of it is
// dropped. O(log pods) a pod, and O(parked) a Wake or Stir.
type Queue struct {
	env     Env
	backoff sched.Backoff

	mu struct {
		sync.Mutex
		items  map[string]*item // by UID
		ready  turns
		eager  turns // delayed ones that Next may take before their time
		vain   int   // tries since the last change
		parked map[*item]struct{}
		count  Depth
		stirs  uint64 // how often Stir was called
	}
	changed sync.Cond
}

// New returns an empty queue. Zeros of the back-off, of a pod that was tried in
// vain, are 10 ms and 10 s.
func New(env Env, b sched.Backoff) *Queue {
	q := &Queue{env: env, backoff: b.Or(sched.Backoff{First: 10 * time.Millisecond, Most: 10 * time.Second})}
	q.mu.items, q.mu.parked = map[string]*item{}, map[*item]struct{}{}
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
	it.Entry, it.tries, it.lost = e, 0, 0
	if it.state == Out {
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
	q.enter(it, none)
	delete(q.mu.items, uid)
}

// Next waits for the pod whose turn it is. Its only error is ctx's.
func (q *Queue) Next(ctx context.Context) (*sched.Pod, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.first() == nil {
		defer context.AfterFunc(ctx, q.wakeSleepers)()
	}
	for q.first() == nil && ctx.Err() == nil {
		q.changed.Wait()
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("wait for a pending pod: %w", err)
	}
	it := q.first()
	q.leave(it)
	it.stirs = q.mu.stirs
	q.enter(it, Out)
	return it.Pod, nil
}

// patience is how many pods are tried in vain, after a change that helps, until
// the others keep to their back-off: more than work at one time, and few.
const patience = 32

// first returns the item whose turn it is, or nil. It needs q.mu.
func (q *Queue) first() *item {
	switch {
	case len(q.mu.ready) > 0:
		return q.mu.ready[0]
	case len(q.mu.eager) > 0 && q.mu.vain < patience:
		return q.mu.eager[0]
	}
	return nil
}

func (q *Queue) wakeSleepers() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
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

// leave takes an item out of what belongs to its state. It needs q.mu, and is to
// be called before anything of the item changes and it enters another state.
func (q *Queue) leave(it *item) {
	if it.in != nil {
		heap.Remove(it.in, it.index)
		it.in = nil
	}
	delete(q.mu.parked, it)
}

// enter puts an item into a state, and into what belongs to that. It needs q.mu.
func (q *Queue) enter(it *item, s State) {
	q.mu.count[it.state]--
	q.mu.count[s]++
	it.state = s
	switch s {
	case Ready:
		q.push(&q.mu.ready, it)
	case Parked:
		q.mu.parked[it] = struct{}{}
	}
}

// push lets a sleeper have an item when its turn comes. It needs q.mu.
func (q *Queue) push(t *turns, it *item) {
	it.in = t
	heap.Push(t, it)
	q.changed.Signal()
}
