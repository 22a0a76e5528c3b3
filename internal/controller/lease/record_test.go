package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock is a Lease object that only this test uses. Its holder is the embedded record's.
type lock struct {
	resourcelock.Interface
	resourcelock.LeaderElectionRecord
}

func (l *lock) Identity() string { return "a" }

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	found := l.LeaderElectionRecord
	return &found, nil, nil
}

func (l *lock) Update(_ context.Context, to resourcelock.LeaderElectionRecord) error {
	l.LeaderElectionRecord = to
	return nil
}

// TestLostStaysLost checks that a replica that was paused, and whose lease another replica has held
// meanwhile, does not get the lease again, even if the other replica has released it. Its state of
// the cluster lacks what the other replica has done, and it would go on without reading it.
func TestLostStaysLost(t *testing.T) {
	for name, between := range map[string][]string{
		"another replica holds it":       {"b"},
		"another replica has held it":    {""},
		"it was seen to hold and let go": {"b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lock{}
			r := &record{Interface: l, duration: time.Minute}
			own := resourcelock.LeaderElectionRecord{HolderIdentity: "a"}
			for range 2 { // takes the lease, and renews it
				if _, _, err := r.Get(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := r.Update(t.Context(), own); err != nil {
					t.Fatal(err)
				}
			}
			for _, holder := range between {
				l.HolderIdentity = holder
				if _, _, err := r.Get(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Update(t.Context(), own); !errors.Is(err, ErrLost) {
				t.Errorf("the lease is renewed: %v", err)
			}
			if end, held := r.until(); held {
				t.Errorf("the lease counts as held until %v", end)
			}
		})
	}
}
