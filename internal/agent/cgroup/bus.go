package cgroup

import (
	"context"
	"errors"
	"fmt"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// persistTimeout bounds every persist: its callers hold a lock that all hooks
// wait for, and some set no deadline. 100 units took 12 s on an emulated machine.
const persistTimeout = time.Minute

// connect opens the system bus, or systemd's own socket where only that is
// mounted; both have the same latency in measurements.
//
// The connection outlives ctx, which belongs to one hook: godbus closes a
// connection when the context of its creation ends (newConn in its conn.go).
func (u *units) connect(ctx context.Context) error {
	if u.conn != nil {
		return nil
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	inTime := context.AfterFunc(ctx, end)
	conn, err := u.dial(life)
	if !inTime() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		end()
		return fmt.Errorf("connect to systemd, which manages the containers' cgroups; mount the host's /run/dbus, and run the agent without an AppArmor profile, which denies D-Bus (appArmorProfile: Unconfined): %w", err)
	}
	u.conn = conn
	return nil
}

// dialSystemd does what systemd.NewWithContext does, but returns the errors of both connections:
// the error of the bus says more than the error that systemd's own socket does not exist.
func dialSystemd(ctx context.Context) (UnitSetter, error) {
	conn, err := systemd.NewSystemConnectionContext(ctx)
	if err == nil {
		return conn, nil
	}
	direct, directErr := systemd.NewSystemdConnectionContext(ctx)
	if directErr != nil {
		return nil, fmt.Errorf("%w; without the bus: %w", err, directErr)
	}
	return direct, nil
}

// disconnect closes a connection that connect opened, so that the next persist
// opens another one.
func (u *units) disconnect() {
	if conn, ok := u.conn.(*systemd.Conn); ok {
		conn.Close()
		u.conn = nil
	}
}

// isDisconnected reports whether err comes from the connection, so that another connection may
// succeed: it is neither an answer of the bus or of systemd, nor the end of ctx.
func isDisconnected(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.As(err, new(godbus.Error))
}

func (u *units) close() {
	u.turn <- struct{}{}
	defer func() { <-u.turn }()
	u.disconnect()
}
