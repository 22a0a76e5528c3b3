package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// errBusy keeps a lease that was lost from being given up as well: until it has
// run out, nobody knows that what was begun under it is over.
var errBusy = errors.New("what was begun under it may not be over")

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
		busy   bool // something may be under way that only the holder may do
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

// Update takes, renews or gives up the lease; the last only where nothing is
// under way.
func (r *record) Update(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	if to.HolderIdentity == "" && r.isBusy() {
		return errBusy
	}
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

// setBusy says whether something may be under way that only the holder may do.
func (r *record) setBusy(busy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.busy = busy
}

func (r *record) isBusy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.busy
}
