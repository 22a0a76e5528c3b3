package cgroup

import (
	"context"
	"errors"
	"fmt"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// persistTimeout limits how long one call of persist takes. The callers of persist hold a lock that all
// NRI hooks need, and some callers set no deadline. To persist 100 units took 12 s on an emulated
// machine.
const persistTimeout = time.Minute

// connect connects to systemd over the D-Bus system bus. Where only systemd's private socket is
// mounted, it uses that socket. Both ways had the same latency in measurements.
//
// The connection stays open after ctx, the context of one NRI hook, has ended. godbus closes a
// connection when the context that created it ends (newConn in its conn.go). So connect gives
// godbus a context that does not end with the hook.
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

// dialSystemd does what systemd.NewWithContext does, but returns the errors of both attempts.
// systemd.NewWithContext returns only the second error, that systemd's private socket does not exist.
// The error of the bus says more.
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

// disconnect closes the connection that connect opened. The next persist then opens a new connection.
func (u *units) disconnect() {
	if conn, ok := u.conn.(*systemd.Conn); ok {
		conn.Close()
		u.conn = nil
	}
}

// isDisconnected reports whether err says that the connection broke, so that a new connection may
// succeed. An error that the bus or systemd sent as its answer does not count, and neither does the end
// of ctx.
func isDisconnected(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.As(err, new(godbus.Error))
}

func (u *units) close() {
	u.turn <- struct{}{}
	defer func() { <-u.turn }()
	u.disconnect()
}
