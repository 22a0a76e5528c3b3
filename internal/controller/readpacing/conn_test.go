package readpacing

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// stream is a connection on which an event arrives every so often, of which a read
// takes all that have arrived.
type stream struct {
	net.Conn
	began  time.Time
	every  time.Duration
	taken  int
	reads  int
	oldest time.Duration // that an event waited until it was read
}

// event is the size of one, in bytes.
const event = 1500

func (s *stream) Read(b []byte) (int, error) {
	time.Sleep(time.Until(s.arrival(s.taken)))
	s.oldest = max(s.oldest, time.Since(s.arrival(s.taken)))
	n := min(int(time.Since(s.began)/s.every)+1-s.taken, len(b)/event)
	for i := range n * event {
		b[i] = byte((s.taken*event + i) % 251)
	}
	s.taken += n
	s.reads++
	return n * event, nil
}

func (s *stream) arrival(i int) time.Time { return s.began.Add(time.Duration(i) * s.every) }

// TestGather: where little arrives it is read at once, where much arrives in pieces of
// many events, and whatever arrives is read in order.
func TestGather(t *testing.T) {
	const events = 1000
	for name, tc := range map[string]struct {
		every  time.Duration
		reads  int           // at most
		oldest time.Duration // at most
	}{
		"a few":        {20 * time.Millisecond, events, 0},
		"some":         {2 * time.Millisecond, events, 0},
		"many":         {500 * time.Microsecond, events / 15, Watch.Longest},
		"all together": {time.Nanosecond, events*event/piece + 3, Watch.Longest},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stream{began: time.Now(), every: tc.every}
				c, got := Watch.conn(s), make([]byte, events*event)
				if _, err := io.ReadFull(c, got); err != nil {
					t.Fatal(err)
				}
				for i, b := range got {
					if b != byte(i%251) {
						t.Fatalf("byte %d is %d, want %d", i, b, i%251)
					}
				}
				if s.reads > tc.reads || s.oldest > tc.oldest {
					t.Errorf("%d reads, and an event waited for %v; want %d and %v at most", s.reads, s.oldest, tc.reads, tc.oldest)
				}
			})
		})
	}
}
