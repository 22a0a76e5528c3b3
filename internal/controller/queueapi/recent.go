package queueapi

import (
	"sync"
	"time"

	"github.com/numalet/numalet/pkg/sched/queue"
)

// shareFor is how long requests share one list of the pending pods.
const shareFor = time.Second

// recent has a list of the pending pods, which requests share for shareFor. To make the list, the
// queue visits and sorts all pending pods, and the scheduler waits for part of this work. Without
// recent, users could slow down scheduling by many requests at the same time.
type recent struct {
	list func() []queue.Explanation
	mu   struct {
		sync.Mutex
		pods []queue.Explanation
		made time.Time
	}
}

// get returns the list. The caller must not change it. If several goroutines call get at the same
// time, and the list is too old, only one of them makes a new list, and the others wait for it.
func (r *recent) get() []queue.Explanation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.made.IsZero() || time.Since(r.mu.made) >= shareFor {
		made := time.Now()
		r.mu.pods, r.mu.made = r.list(), made
		time.AfterFunc(shareFor, func() { r.drop(made) })
	}
	return r.mu.pods
}

// drop frees the memory of the list that was made at the given time, unless there is a newer one.
func (r *recent) drop(made time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.made.Equal(made) {
		r.mu.pods, r.mu.made = nil, time.Time{}
	}
}
