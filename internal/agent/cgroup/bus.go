package cgroup

import (
	"context"
	"fmt"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
)

// settleTimeout bounds every settle: its callers hold a lock that all hooks
// wait for, and some give no deadline of their own. 100 units took 12 s on an
// emulated machine.
const settleTimeout = time.Minute

// connect takes the system bus, or systemd's own socket where only that is
// mounted; they were measured to cost the same.
//
// The connection outlives ctx, which is that of one hook: godbus closes a
// connection when the context it was made with ends (newConn in its conn.go).
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
		return fmt.Errorf("connect to systemd, which owns the containers' cgroups (mount the host's /run/dbus or /run/systemd): %w", err)
	}
	u.conn = conn
	return nil
}

func dialSystemd(ctx context.Context) (UnitSetter, error) { return systemd.NewWithContext(ctx) }

// disconnect drops a connection of its own after a failure, so that the next
// settle starts afresh.
func (u *units) disconnect() {
	if conn, ok := u.conn.(*systemd.Conn); ok {
		conn.Close()
		u.conn = nil
	}
}

func (u *units) close() {
	u.turn <- struct{}{}
	defer func() { <-u.turn }()
	u.disconnect()
}
