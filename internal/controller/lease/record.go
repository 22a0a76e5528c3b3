package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// errBusy prevents the release of a lost lease: steps that began under it may still be in progress
// until it expires.
var errBusy = errors.New("steps that began under the lease may still be under way")

// record observes reads and writes of the lease. It knows until when this replica holds the
// lease by its own clock, and whether the former holder released it.
type record struct {
	resourcelock.Interface
	duration time.Duration
	mu       struct {
		sync.Mutex
		held     bool
		end      time.Time
		free     bool // as last read: the lease exists and has no holder
		released bool // it was free when this replica took it
		busy     bool // a step that only the holder may take may be under way
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

// Create creates the lease and takes it. It does not count as released: somebody may have
// deleted it while it was held.
func (r *record) Create(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	err := r.Interface.Create(ctx, to)
	r.observe(to, sent, err)
	return err
}

// Update takes, renews or releases the lease. It does not release it while a step may be
// under way.
func (r *record) Update(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	if to.HolderIdentity == "" && r.isBusy() {
		return errBusy
	}
	sent := time.Now()
	err := r.Interface.Update(ctx, to)
	r.observe(to, sent, err)
	return err
}

// observe starts the lease's duration at the moment of sending: no other replica can have
// seen the write before.
func (r *record) observe(to resourcelock.LeaderElectionRecord, sent time.Time, err error) {
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	holds := to.HolderIdentity == r.Identity()
	if holds && !r.mu.held {
		r.mu.released = r.mu.free
	}
	r.mu.held, r.mu.end = holds, sent.Add(r.duration)
}

// until returns when the lease expires, and false if this replica does not hold it.
func (r *record) until() (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.end, r.mu.held
}

// wasReleased reports whether the former holder released the lease.
func (r *record) wasReleased() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.released
}

// setBusy sets whether a step that only the holder may take may be under way.
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
