package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// errBusy is the error that Update returns if it refuses to release the lease, because a step that
// this replica began as the holder may still be in progress.
var errBusy = errors.New("steps that began under the lease may still be under way")

// record reads and writes the Lease object for client-go's leader election. It records until when
// this replica holds the lease, by the clock of this replica, and whether the former holder has
// released the lease.
type record struct {
	resourcelock.Interface
	duration time.Duration
	mu       struct {
		sync.Mutex
		held     bool
		end      time.Time
		free     bool // at the last read, the Lease existed and had no holder
		released bool // the former holder released the lease before this replica took it
		busy     bool // a step that only the holder may take may be in progress
		lost     bool // the Lease had another holder, or none, after this replica had taken it
	}
}

// Get reads the Lease object, and records whether it has no holder. If this replica has taken the
// lease, but does not hold it any more, then another replica may have led meanwhile, for example
// while this replica was paused (SIGSTOP). The lease is then lost for good, even if the other replica
// has released it: this replica would go on without knowing what the other one has done.
func (r *record) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	found, raw, err := r.Interface.Get(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.free = err == nil && found.HolderIdentity == ""
	if err == nil && r.mu.held && found.HolderIdentity != r.Identity() {
		r.mu.lost, r.mu.held = true, false
	}
	return found, raw, err
}

// Create creates the Lease object with this replica as the holder. The lease does not count as
// released by a former holder, because somebody may have deleted the Lease object while another
// replica held the lease.
func (r *record) Create(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	err := r.Interface.Create(ctx, to)
	r.observe(to, sent, err)
	return err
}

// Update takes, renews or releases the lease. It refuses to release the lease while a step that
// only the holder may take may be in progress. It refuses to take or renew a lease that this replica
// has lost (see Get).
func (r *record) Update(ctx context.Context, to resourcelock.LeaderElectionRecord) error {
	if to.HolderIdentity == "" && r.isBusy() {
		return errBusy
	}
	if r.isLost() {
		return ErrLost
	}
	sent := time.Now()
	err := r.Interface.Update(ctx, to)
	r.observe(to, sent, err)
	return err
}

// observe records a write of the Lease object. The lease is valid for the duration r.duration from
// the time when the request was sent (`sent`), because no other replica can have seen the write
// before that time.
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

// The method `until` returns when the lease that this replica holds expires. It returns false if
// this replica does not hold the lease.
func (r *record) until() (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.end, r.mu.held
}

// wasReleased reports whether the former holder released the lease before this replica took it.
func (r *record) wasReleased() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.released
}

// setBusy records whether a step that only the holder may take can be in progress.
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

func (r *record) isLost() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.lost
}
