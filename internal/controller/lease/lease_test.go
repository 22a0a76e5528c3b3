package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const (
	duration = 15 * time.Second
	act      = 5 * time.Second
)

// replica is a process that takes part in the election.
type replica struct {
	*Lease
	client *line
	stop   context.CancelFunc
	leads  chan time.Time // receives the time when the replica begins to lead
	ended  chan error
}

// start starts a replica that takes part in the election.
func start(t *testing.T, identity string, client *line) *replica {
	t.Helper()
	return startBusy(t, identity, client, 0)
}

// startBusy starts a replica that takes part in the election. When the replica's time as the leader
// ends, the function that it has passed to Run takes the given time to return.
func startBusy(t *testing.T, identity string, client *line, lasts time.Duration) *replica {
	t.Helper()
	l, err := New(client, Options{Namespace: "ns", Name: "lease", Identity: identity, Duration: duration, ActionTimeout: act})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r := &replica{Lease: l, client: client, stop: stop, leads: make(chan time.Time, 1), ended: make(chan error, 1)}
	go func() {
		r.ended <- l.Run(ctx, func(ctx context.Context) error {
			r.leads <- time.Now()
			<-ctx.Done()
			time.Sleep(lasts)
			return nil
		})
	}()
	return r
}

// line is a client whose requests can be made to fail: all of them (the field `cut`), or only those
// that take or renew the lease (the field `slow`).
type line struct {
	*fake.Clientset
	cut, slow atomic.Bool
}

// share returns a new client of the same fake API server.
func share(of *fake.Clientset) *line {
	l := &line{Clientset: &fake.Clientset{}}
	l.AddReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return l.cut.Load(), nil, errors.New("no answer")
	})
	l.AddReactor("update", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		lease := action.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease)
		return l.slow.Load() && *lease.Spec.HolderIdentity != "", nil, errors.New("no answer in time")
	})
	l.AddReactor("*", "*", clienttesting.ObjectReaction(of.Tracker()))
	return l
}

func TestGivenUpNeedsNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewClientset()
		a := start(t, "a", share(server))
		began := time.Now()
		if waited := (<-a.leads).Sub(began); waited != duration+act {
			t.Errorf("the first leader waited %v, want %v", waited, duration+act)
		}
		if err := a.Check(); err != nil {
			t.Errorf("the leader may not act: %v", err)
		}
		b := start(t, "b", share(server))
		time.Sleep(time.Minute)
		if err := b.Check(); !errors.Is(err, ErrLost) || b.Leads() {
			t.Errorf("the second replica: Check = %v, Leads = %v", err, b.Leads())
		}
		a.stop()
		if err := <-a.ended; err != nil {
			t.Errorf("told to end: %v", err)
		}
		if err := a.Check(); !errors.Is(err, ErrLost) {
			t.Errorf("after its end the first may act: %v", err)
		}
		ended := time.Now()
		if waited := (<-b.leads).Sub(ended); waited > duration/2 {
			t.Errorf("the lease was given up, and the next waited %v", waited)
		}
		b.stop()
		<-b.ended
	})
}

// TestCutOffLeader checks a leader that loses its connection. It must stop when its lease expires,
// and the next leader must not begin before that.
func TestCutOffLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewClientset()
		a := start(t, "a", share(server))
		<-a.leads
		b := start(t, "b", share(server))
		time.Sleep(time.Minute)
		a.client.cut.Store(true)
		cutOff := time.Now()
		last := cutOff
		for a.Check() == nil {
			last = time.Now()
			time.Sleep(100 * time.Millisecond)
		}
		if held := last.Sub(cutOff); held > duration {
			t.Errorf("cut off, it held the lease for %v", held)
		}
		if err := <-a.ended; !errors.Is(err, ErrLost) {
			t.Errorf("cut off, it ended with %v", err)
		}
		if led := <-b.leads; led.Before(last.Add(act)) {
			t.Errorf("the next leads %v after the last moment of the first, want %v or more", led.Sub(last), act)
		}
		b.stop()
		<-b.ended
	})
}

// TestLostIsNotGivenUp checks a leader that loses its lease, but still has a connection to the API
// server. It must not release the lease, because its last requests may still be in progress. So the
// next leader must wait before its first step.
func TestLostIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewClientset()
		a := startBusy(t, "a", share(server), act)
		<-a.leads
		b := start(t, "b", share(server))
		time.Sleep(time.Minute)
		a.client.slow.Store(true)
		if err := <-a.ended; !errors.Is(err, ErrLost) {
			t.Errorf("without renewals it ended with %v", err)
		}
		ended := time.Now()
		if led := <-b.leads; led.Before(ended) {
			t.Errorf("the next leads %v before the first has ended", ended.Sub(led))
		}
		b.stop()
		<-b.ended
	})
}

func TestToldToEndWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, "a", share(fake.NewClientset()))
		time.Sleep(duration)
		if !a.Leads() {
			t.Error("it does not hold the lease")
		}
		a.stop()
		if err := <-a.ended; err != nil {
			t.Errorf("told to end: %v", err)
		}
		if len(a.leads) != 0 {
			t.Error("it led before its time")
		}
	})
}
