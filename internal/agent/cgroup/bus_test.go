package cgroup

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
)

// bound is a fake connection to systemd. It is closed when the context with which it was created
// ends, like a connection of the package godbus.
type bound struct {
	recorder
	life context.Context
}

func (b *bound) SetUnitPropertiesContext(ctx context.Context, name string, runtime bool, properties ...systemd.Property) error {
	if b.life.Err() != nil {
		return errors.New("dbus: connection closed by user")
	}
	return b.recorder.SetUnitPropertiesContext(ctx, name, runtime, properties...)
}

// TestConnectionOutlivesTheHook checks that the connection to systemd stays open after the NRI hook
// that opened it has ended, and that the next hook uses this connection.
func TestConnectionOutlivesTheHook(t *testing.T) {
	u, dials := newUnits(nil), 0
	u.dial = func(ctx context.Context) (UnitSetter, error) {
		dials++
		return &bound{life: ctx}, nil
	}
	for range 2 {
		hook, end := context.WithCancel(t.Context())
		u.require(scope, noQuota())
		if err := u.persist(hook); err != nil {
			t.Error(err)
		}
		end()
		u.invalidate(scope)
	}
	if dials != 1 {
		t.Errorf("connected %d times, want once", dials)
	}
}

// TestConnectingTakesNoLongerThanTheHook checks a connection to systemd that is established only
// after the deadline of the NRI hook. The call of `persist` must fail, and must not keep the
// connection.
func TestConnectingTakesNoLongerThanTheHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		units := newUnits(nil)
		units.dial = func(ctx context.Context) (UnitSetter, error) {
			<-ctx.Done()
			return &bound{life: ctx}, nil
		}
		units.require(scope, noQuota())
		hook, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if err := units.persist(hook); !errors.Is(err, context.DeadlineExceeded) || units.conn != nil {
			t.Errorf("persist = %v with connection %v, want the deadline and none", err, units.conn)
		}
	})
}
