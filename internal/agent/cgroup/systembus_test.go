package cgroup

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// maxReplies is the largest number of calls of one connection that may wait for an answer. It is
// the default of max_replies_per_connection in dbus-daemon 1.14.
// Source: dbus-daemon(1) and bus_config_parser_new in bus/config-parser.c.
const maxReplies = 128

// systemBus is a fake dbus-daemon with a fake systemd that answers one request every millisecond. Like
// dbus-daemon, it refuses a call if maxReplies earlier calls of the same connection wait for their
// answers.
type systemBus struct {
	requests chan busRequest // the calls that wait for the fake systemd
	mu       struct {
		sync.Mutex
		dials int
		open  []net.Conn
		set   map[string]bool // the units whose properties were set
	}
}

// busRequest is a D-Bus call that waits for the answer of the fake systemd.
type busRequest struct {
	from *peer
	call *godbus.Message
}

// peer is one connection to the fake bus.
type peer struct {
	net.Conn
	mu struct {
		sync.Mutex
		waiting int // calls that systemd has not answered yet
		serial  uint32
	}
}

func newSystemBus() *systemBus {
	b := &systemBus{requests: make(chan busRequest, 4096)}
	b.mu.set = map[string]bool{}
	go b.systemd()
	return b
}

// dial connects to the fake bus, as dialSystemd connects to the host's bus.
func (b *systemBus) dial(ctx context.Context) (UnitSetter, error) {
	b.mu.Lock()
	b.mu.dials++
	b.mu.Unlock()
	return systemd.NewConnection(func() (*godbus.Conn, error) {
		client, server := net.Pipe()
		b.mu.Lock()
		b.mu.open = append(b.mu.open, server)
		b.mu.Unlock()
		go b.serve(&peer{Conn: server})
		conn, err := godbus.NewConn(client, godbus.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		if err := conn.Auth([]godbus.Auth{godbus.AuthExternal("0")}); err != nil {
			return nil, err
		}
		return conn, conn.Hello()
	})
}

// restart closes all connections, as a restart of dbus-daemon does.
func (b *systemBus) restart() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.mu.open {
		c.Close()
	}
	b.mu.open = nil
}

// serve handles the calls of one connection, as dbus-daemon does.
func (b *systemBus) serve(p *peer) {
	defer p.Close()
	in := bufio.NewReader(p)
	if !p.authenticate(in) {
		return
	}
	for {
		call, err := godbus.DecodeMessage(in)
		if err != nil {
			return
		}
		switch to, _ := call.Headers[godbus.FieldDestination].Value().(string); {
		case to == "org.freedesktop.DBus":
			p.answer(call, godbus.TypeMethodReply, ":1.1")
		case !p.wait():
			p.answer(call, godbus.TypeError, "The maximum number of pending replies per connection has been reached")
		default:
			b.requests <- busRequest{p, call}
		}
	}
}

// authenticate does the server's part of the D-Bus authentication protocol.
// Source: https://dbus.freedesktop.org/doc/dbus-specification.html#auth-protocol
func (p *peer) authenticate(in *bufio.Reader) bool {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return false
		}
		switch line = strings.Trim(line, "\x00\r\n"); {
		case line == "AUTH":
			_, err = io.WriteString(p, "REJECTED EXTERNAL\r\n")
		case line == "BEGIN":
			return true
		default:
			_, err = io.WriteString(p, "OK 0123456789abcdef\r\n")
		}
		if err != nil {
			return false
		}
	}
}

// wait records that one more call waits for its answer. It returns false if maxReplies calls of
// this connection already wait.
func (p *peer) wait() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.waiting == maxReplies {
		return false
	}
	p.mu.waiting++
	return true
}

// systemd is the fake systemd, which answers the requests one after another.
func (b *systemBus) systemd() {
	for r := range b.requests {
		time.Sleep(time.Millisecond)
		r.from.mu.Lock()
		r.from.mu.waiting--
		r.from.mu.Unlock()
		if r.call.Headers[godbus.FieldMember].Value() == "SetUnitProperties" {
			b.mu.Lock()
			b.mu.set[r.call.Body[0].(string)] = true
			b.mu.Unlock()
			r.from.answer(r.call, godbus.TypeMethodReply)
		} else {
			r.from.answer(r.call, godbus.TypeMethodReply, godbus.MakeVariant("running"))
		}
	}
}

// answer sends an answer to a call. It ignores errors, because the connection may be closed, and
// then nobody waits for the answer.
func (p *peer) answer(call *godbus.Message, kind godbus.Type, body ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.serial++
	m := godbus.Message{Type: kind, Body: body, Headers: map[godbus.HeaderField]godbus.Variant{
		godbus.FieldReplySerial: godbus.MakeVariant(call.Serial()),
	}}
	if kind == godbus.TypeError {
		m.Headers[godbus.FieldErrorName] = godbus.MakeVariant("org.freedesktop.DBus.Error.LimitsExceeded")
	}
	if len(body) > 0 {
		m.Headers[godbus.FieldSignature] = godbus.MakeVariant(godbus.SignatureOf(body...))
	}
	_ = m.EncodeTo(p, binary.LittleEndian)
}

// TestPersistManyUnits checks that persist works for more than 128 units. The bus refuses a call if
// 128 calls of the same connection already wait for an answer, and a node can have more than 128
// containers. So persist must not send all calls at the same time.
func TestPersistManyUnits(t *testing.T) {
	for _, n := range []int{100, 128, 140, 220, 500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus, u := newSystemBus(), newUnits(nil)
				defer close(bus.requests)
				defer u.close()
				u.dial = bus.dial
				for i := range n {
					u.require(fmt.Sprintf("c%d.scope", i), noQuota())
				}
				if err := u.persist(t.Context()); err != nil {
					t.Errorf("persist = %v, want nil", err)
				}
				if got := len(bus.mu.set); got != n {
					t.Errorf("systemd has %d units, want %d", got, n)
				}
			})
		})
	}
}

// TestPersistReconnects checks that a call of `persist` connects again and succeeds, if the
// connection broke after the previous call.
func TestPersistReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, u := newSystemBus(), newUnits(nil)
		defer close(bus.requests)
		defer u.close()
		u.dial = bus.dial
		for _, unit := range []string{"a.scope", "b.scope"} {
			u.require(unit, noQuota())
			if err := u.persist(t.Context()); err != nil {
				t.Errorf("persist of %s = %v, want nil", unit, err)
			}
			bus.restart()
		}
		if len(bus.mu.set) != 2 || bus.mu.dials != 2 {
			t.Errorf("systemd has %v after %d connections, want 2 units after 2", bus.mu.set, bus.mu.dials)
		}
	})
}
