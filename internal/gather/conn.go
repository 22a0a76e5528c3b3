package gather

import (
	"bufio"
	"context"
	"net"
	"time"
)

const (
	// rate is how many bytes a second are little: who reads n bytes waits for more
	// until they would have taken that long. A few hundred events of a watch.
	rate = 1 << 20
	// longest is how long it waits at most.
	longest = 10 * time.Millisecond
	// piece is how many bytes are read at one time at most.
	piece = 64 << 10
)

// Dial connects as net/http does by default; it is for rest.Config.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return newConn(c), nil
}

// conn lets a moment pass between two reads if the first one brought much. An API
// server writes each event of a watch by itself. To read them so costs a system
// call each, and wakes five goroutines in turn from reader to handler, each maybe
// on a processor that has just gone to sleep; more than to decode the event.
//
// A fixed pause was tried before: of 5 ms it saves half as much, and of 10 ms each
// event that is alone waits for it.
type conn struct {
	net.Conn
	in *bufio.Reader
}

func newConn(c net.Conn) *conn {
	return &conn{c, bufio.NewReaderSize(&source{Conn: c}, piece)}
}

func (c *conn) Read(b []byte) (int, error) { return c.in.Read(b) }

// source is where a conn's reader reads.
type source struct {
	net.Conn
	next time.Time // before which it does not read
}

// Read is that of io.Reader. It waits first, no longer than longest, whatever
// deadline the connection has.
func (s *source) Read(b []byte) (int, error) {
	time.Sleep(time.Until(s.next))
	n, err := s.Conn.Read(b)
	s.next = time.Now().Add(min(time.Duration(n)*time.Second/rate, longest))
	return n, err
}
