package nri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
	"github.com/go-logr/logr"
)

// Name and Index are what the plugin registers as. Plugins are called in order
// of index; a late one sees what others adjusted. An install names Name in
// containerd's default_validator.required_plugins.
const (
	Name  = "numalet"
	Index = "90"
)

// How long to wait before connecting anew: twice as long after each failure in
// a row, so that a runtime that restarts is found soon and one that is gone
// costs nothing.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// lostGrace is how long the stub may take to notice that its connection is
// lost. It waits for ever when that happens between registering and
// Configure (stub.Start of NRI 0.12 holds the lock that its closing needs).
const lostGrace = 2 * time.Second

// Options of New.
type Options struct {
	Socket  string // the runtime's, usually /var/run/nri/nri.sock
	Node    Node
	Log     logr.Logger
	Observe func(hook string, took time.Duration, err error)
}

// Plugin keeps the node connected to the runtime.
type Plugin struct {
	o  Options
	mu struct {
		sync.Mutex
		why error // nil: connected and synchronized
	}
}

// New returns a plugin that is not connected yet.
func New(o Options) *Plugin {
	p := &Plugin{o: o}
	p.mu.why = errors.New("not connected to the container runtime yet")
	return p
}

// Ready returns nil while the plugin is connected and synchronized, else why not.
func (p *Plugin) Ready() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.why
}

func (p *Plugin) setReady(why error) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed = fmt.Sprint(p.mu.why) != fmt.Sprint(why)
	p.mu.why = why
	return changed
}

// Run connects, and again whenever the connection is lost, until ctx ends or
// the runtime turns out to be none that is supported (ErrUnsupported).
func (p *Plugin) Run(ctx context.Context) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		synced, err := p.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		changed := p.setReady(err)
		if errors.Is(err, ErrUnsupported) {
			return err
		}
		if changed {
			p.o.Log.Error(err, "no connection to the container runtime; connecting again until there is one")
		}
		if synced {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// connect serves one connection to its end, and reports whether the runtime
// synchronized it.
func (p *Plugin) connect(ctx context.Context) (synced bool, err error) {
	conn, err := dial(p.o.Socket)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	var done atomic.Bool
	s, err := p.newStub(conn, func() { done.Store(true); p.setReady(nil) })
	if err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case err = <-ended:
	case <-conn.lost:
		select {
		case err = <-ended:
		case <-time.After(lostGrace):
		}
	}
	if err == nil {
		err = errors.New("connection lost")
	}
	return done.Load(), fmt.Errorf("serve the container runtime over %s: %w", p.o.Socket, err)
}

// newStub returns a fresh stub: one that lost its connection keeps some of its state.
func (p *Plugin) newStub(conn net.Conn, synced func()) (stub.Stub, error) {
	hooks := &plugin{node: p.o.Node, log: p.o.Log, observe: p.o.Observe, synced: synced}
	s, err := stub.New(hooks,
		stub.WithPluginName(Name), stub.WithPluginIdx(Index),
		stub.WithConnection(conn), stub.WithOnClose(func() {}),
		stub.WithLogger(logger{p.o.Log}),
		// A runtime with NRI ≥ 0.12.5 then fails what this plugin is too late
		// for, instead of going on unpinned; an older one ignores it.
		stub.WithFailurePolicy(&api.FailurePolicy{FailRequest: true}))
	if err != nil {
		return nil, fmt.Errorf("create NRI plugin: %w", err)
	}
	hooks.granted = s.RequestTimeout
	return s, nil
}

// watched is a connection that tells when it is lost.
type watched struct {
	net.Conn
	once sync.Once
	lost chan struct{}
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil {
		w.once.Do(func() { close(w.lost) })
	}
	return n, err
}

func dial(socket string) (*watched, error) {
	conn, err := net.Dial("unix", socket)
	switch {
	case err == nil:
		return &watched{Conn: conn, lost: make(chan struct{})}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("find the NRI socket %s: %w; containerd ≥ 2.0 has NRI on by default: switch it on in an older or changed one (plugins.'io.containerd.nri.v1.nri'.disable = false), mount the socket's directory into this container, or run with --enforce=cgroup", socket, err)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("connect to the NRI socket %s: %w; run as root", socket, err)
	}
	return nil, fmt.Errorf("connect to the NRI socket %s: %w; is the container runtime running?", socket, err)
}
