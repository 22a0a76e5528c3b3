package post

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener within this process.
type pipes struct {
	made chan net.Conn
	once sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	if c, ok := <-p.made; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.made) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// newPool returns a pool of connections to a server that answers so, and how many
// were made.
func newPool(t *testing.T, answer http.HandlerFunc) (*pool, *atomic.Int32) {
	l, server, made := &pipes{made: make(chan net.Conn)}, &http.Server{Handler: answer}, new(atomic.Int32)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return &pool{dial: func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		l.made <- far
		made.Add(1)
		return near, nil
	}}, made
}

func (p *pool) ask(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/", http.NoBody)
	if err != nil {
		return err
	}
	_, err = p.RoundTrip(r)
	return err
}

func say(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }

// TestReuse: a connection serves one request after another, as long as it can be
// trusted.
func TestReuse(t *testing.T) {
	parting := func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Connection", "close"); say(w, r) }
	first := func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusProcessing); say(w, r) }
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		pause  time.Duration
		made   int32 // connections, for 100 requests
	}{
		"at once":                 {say, 0, 1},
		"soon":                    {say, time.Second, 1},
		"more than 10 minutes":    {say, 9 * time.Second, 2},
		"seldom":                  {say, idle, 100},
		"the server says goodbye": {parting, 0, 100},
		"an answer is on its way": {first, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, made := newPool(t, tc.answer)
				for range 100 {
					if err := p.ask(t.Context()); err != nil {
						t.Fatal(err)
					}
					time.Sleep(tc.pause)
				}
				if got := made.Load(); got != tc.made {
					t.Errorf("%d connections are made, want %d", got, tc.made)
				}
			})
		})
	}
}

// TestPatience: an answer is waited for as long as the caller says, and not for
// ever where it says nothing.
func TestPatience(t *testing.T) {
	never := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	limited := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, time.Second)
	}
	canceled := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(2*time.Second, cancel)
		return ctx, cancel
	}
	for name, tc := range map[string]struct {
		limit func(context.Context) (context.Context, context.CancelFunc)
		want  error
		after time.Duration
	}{
		"deadline": {limited, context.DeadlineExceeded, time.Second},
		"canceled": {canceled, context.Canceled, 2 * time.Second},
		"none":     {context.WithCancel, context.DeadlineExceeded, longest},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := newPool(t, never)
				ctx, cancel := tc.limit(t.Context())
				defer cancel()
				began := time.Now()
				if err := p.ask(ctx); !errors.Is(err, tc.want) {
					t.Errorf("RoundTrip = %v, want %v", err, tc.want)
				}
				if got := time.Since(began); got != tc.after {
					t.Errorf("it took %v, want %v", got, tc.after)
				}
			})
		})
	}
}

// TestSeldomAlone: where one connection has ended the others are not tried.
func TestSeldomAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends atomic.Bool
		p, made := newPool(t, func(w http.ResponseWriter, r *http.Request) {
			if ends.Swap(false) {
				panic(http.ErrAbortHandler)
			}
			time.Sleep(time.Second)
			say(w, r)
		})
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { _ = p.ask(t.Context()) })
		}
		all.Wait()
		ends.Store(true)
		if err := p.ask(t.Context()); err == nil {
			t.Error("an answer that broke off is none")
		}
		if err := p.ask(t.Context()); err != nil || made.Load() != 6 {
			t.Errorf("RoundTrip = %v over connection %d, want a 6th", err, made.Load())
		}
	})
}

// TestTooLong: no answer is read that would fill the memory.
func TestTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newPool(t, func(w http.ResponseWriter, _ *http.Request) {
			for range readable/1000 + 1 {
				_, _ = w.Write(make([]byte, 1000))
			}
		})
		if err := p.ask(t.Context()); err == nil {
			t.Errorf("an answer of more than %d bytes is read", readable)
		}
	})
}
