package apiwriter

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/transport"
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
	return &pool{head: newTestHead(t), dial: func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		l.made <- far
		made.Add(1)
		return near, nil
	}}, made
}

func newTestHead(t *testing.T) *head {
	t.Helper()
	h, err := newHead(&transport.Config{}, &url.URL{Scheme: "http", Host: "server"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (p *pool) ask(ctx context.Context) error {
	_, err := p.send(ctx, []message{{to: "/"}})
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
					t.Errorf("send = %v, want %v", err, tc.want)
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
			t.Errorf("send = %v over connection %d, want a 6th", err, made.Load())
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

// TestTogether: messages that are sent together are answered in their order, up to
// the one at which the server leaves off.
func TestTogether(t *testing.T) {
	at := func(path string, do http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path {
				do(w, r)
			}
			w.Header().Set("Retry-After", r.URL.Path[1:])
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	for name, tc := range map[string]struct {
		answer  http.HandlerFunc
		answers int
		made    int32 // connections, for two times ten messages
	}{
		"all":       {at("", nil), 10, 1},
		"goodbye":   {at("/3", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }), 4, 2},
		"at last":   {at("/9", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }), 10, 2},
		"broken":    {at("/3", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), 3, 2},
		"too long":  {at("/3", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, readable+1)) }), 3, 2},
		"no answer": {at("/3", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), 3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, made := newPool(t, tc.answer)
				for range 2 {
					all := make([]message, 10)
					for i := range all {
						all[i].to = "/" + strconv.Itoa(i)
					}
					answers, err := p.send(t.Context(), all)
					if len(answers) != tc.answers || (err != nil) != (tc.answers < 10) {
						t.Fatalf("send = %d answers, %v; want %d", len(answers), err, tc.answers)
					}
					for i, a := range answers {
						if got := a.Header.Get("Retry-After"); got != strconv.Itoa(i) {
							t.Errorf("answer %d is that to message %s", i, got)
						}
					}
				}
				if got := made.Load(); got != tc.made {
					t.Errorf("%d connections are made, want %d", got, tc.made)
				}
			})
		})
	}
}
