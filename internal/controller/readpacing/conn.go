package readpacing

import (
	"bufio"
	"context"
	"net"
	"time"
)

// piece is how many bytes are read at one time at most.
const piece = 64 << 10

// Pace is how soon what has arrived is read. Who has read n bytes waits for more
// until at the rate they would have taken that long, no longer than Longest.
type Pace struct {
	Rate    int // how many bytes a second are little
	Longest time.Duration
}

// Watch is the pace of watches: a few hundred events a second are little.
var Watch = Pace{Rate: 1 << 20, Longest: 10 * time.Millisecond}

// Dial connects as net/http does by default; it is for rest.Config.
func (p Pace) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return p.conn(c), nil
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

func (p Pace) conn(c net.Conn) *conn {
	return &conn{c, bufio.NewReaderSize(&source{Conn: c, pace: p}, piece)}
}

func (c *conn) Read(b []byte) (int, error) { return c.in.Read(b) }

// source is where a conn's reader reads.
type source struct {
	net.Conn
	pace Pace
	next time.Time // before which it does not read
}

// Read is that of io.Reader. It waits first, no longer than its pace says, whatever
// deadline the connection has.
func (s *source) Read(b []byte) (int, error) {
	time.Sleep(time.Until(s.next))
	n, err := s.Conn.Read(b)
	s.next = time.Now().Add(min(time.Duration(n)*time.Second/time.Duration(s.pace.Rate), s.pace.Longest))
	return n, err
}
