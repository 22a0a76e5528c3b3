package lease

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// record notes what is written to the lease and read from it: until when it is
// held by this one's own clock, and whether the last holder gave it up.
type record struct {
	resourcelock.Interface
	duration time.Duration
	mu       struct {
		sync.Mutex
		held   bool
		end    time.Time
		free   bool // as last read: there is a lease, and nobody holds it
		gotten bool // it was free when it was taken
	}
}

// Get reads the lease.
func (r *record) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	found, raw, err := r.Interface.Get(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.free = err == nil && found.HolderIdentity == ""
	return found, raw, err
}

// Create takes a lease that there was not. It may have been deleted under its
// holder's feet, so it does not count as given up.
func (r *record) Create(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	err := r.Interface.Create(ctx, to)
	r.note(to, sent, err)
	return err
}

// Update takes, renews or gives up the lease.
func (r *record) Update(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	err := r.Interface.Update(ctx, to)
	r.note(to, sent, err)
	return err
}

// note counts from the moment of sending: nobody can have seen the write before.
func (r *record) note(to resourcelock.LeaderElectionRecord, sent time.Time, err error) {
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	holds := to.HolderIdentity == r.Identity()
	if holds && !r.mu.held {
		r.mu.gotten = r.mu.free
	}
	r.mu.held, r.mu.end = holds, sent.Add(r.duration)
}

// until returns when the lease ends, and false where it is not held.
func (r *record) until() (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.end, r.mu.held
}

func (r *record) givenUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.gotten
}
