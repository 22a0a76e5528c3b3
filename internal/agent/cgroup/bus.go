package cgroup

import (
	"context"
	"errors"
	"fmt"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// connect connects to systemd, unless a connection is open already. It uses the D-Bus system bus,
// or systemd's private socket if the bus cannot be reached. Measurements showed the same latency
// for both.
//
// The connection must stay open after ctx, the context of one call of `persist`, has ended. godbus
// closes a connection when the context that created it ends (newConn in its conn.go). So connect
// passes godbus a context that outlives ctx. If ctx ends before the connection is established,
// connect fails.
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

// dialSystemd connects to systemd over the system bus. If that fails, it uses systemd's private
// socket, as systemd.NewWithContext does. If both attempts fail, dialSystemd returns both errors.
// systemd.NewWithContext would return the second error alone, which says only that the private
// socket does not exist.
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

// disconnect closes the connection that `connect` opened. The next call of `connect` then opens a
// new one.
func (u *units) disconnect() {
	if conn, ok := u.conn.(*systemd.Conn); ok {
		conn.Close()
		u.conn = nil
	}
}

// isDisconnected reports whether err means that the connection to systemd broke, so that a call
// over a new connection may succeed. It returns false if ctx has ended, or if err is an answer that
// the bus or systemd has sent.
func isDisconnected(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.As(err, new(godbus.Error))
}

func (u *units) close() {
	u.turn <- struct{}{}
	defer func() { <-u.turn }()
	u.disconnect()
}
