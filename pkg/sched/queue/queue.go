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
//	                        Wake: a change helps
//
// A pod that is removed while it is out stays removed: what comes back of it is
// dropped. O(log ready) a pod, and O(parked) a Wake.
type Queue struct {
	env     Env
	backoff Backoff

	mu struct {
		sync.Mutex
		items  map[string]*item // by UID
		ready  turns
		parked map[*item]struct{}
		count  Depth
	}
	changed sync.Cond
}

// New returns an empty queue.
func New(env Env, b Backoff) *Queue {
	q := &Queue{env: env, backoff: b.complete()}
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
	if it.state == Ready {
		heap.Remove(&q.mu.ready, it.index)
	}
	it.Entry, it.tries = e, 0
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
	if it.state == Ready {
		heap.Remove(&q.mu.ready, it.index)
	}
	q.enter(it, none)
	delete(q.mu.items, uid)
}

// Next waits for the pod whose turn it is. Its only error is ctx's.
func (q *Queue) Next(ctx context.Context) (*sched.Pod, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.mu.ready) == 0 {
		defer context.AfterFunc(ctx, q.wakeSleepers)()
	}
	for len(q.mu.ready) == 0 && ctx.Err() == nil {
		q.changed.Wait()
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("wait for a pending pod: %w", err)
	}
	it := heap.Pop(&q.mu.ready).(*item)
	q.enter(it, Out)
	return it.Pod, nil
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

// enter puts an item into a state, and into what belongs to that; it was taken
// out of the heap before. It needs q.mu.
func (q *Queue) enter(it *item, s State) {
	q.mu.count[it.state]--
	q.mu.count[s]++
	delete(q.mu.parked, it)
	it.state = s
	switch s {
	case Ready:
		heap.Push(&q.mu.ready, it)
		q.changed.Signal()
	case Parked:
		q.mu.parked[it] = struct{}{}
	}
}
