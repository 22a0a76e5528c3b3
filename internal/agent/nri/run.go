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

// Name and Index identify the plugin to the container runtime. The runtime calls plugins in the
// order of their indices, and each plugin sees the adjustments of the plugins before it. The
// setting default_validator.required_plugins of containerd should list Name.
const (
	Name  = "numalet"
	Index = "90"
)

// minDelay is how long the plugin waits after it has lost its connection to the container runtime,
// before it connects again. The delay doubles with each consecutive failure, up to maxDelay.
const (
	minDelay = 100 * time.Millisecond
	maxDelay = 5 * time.Second
)

// stubTimeout is how long the method `connect` waits for the end of the stub, NRI's library for
// plugins, after the connection is lost. The stub never ends if the connection is lost between the
// registration and the call of Configure. In NRI 0.12, the method Start of the stub then holds the
// mutex that the method Close needs.
const stubTimeout = 2 * time.Second

// Options are the options of New.
type Options struct {
	Socket  string // the path of the container runtime's NRI socket, usually /var/run/nri/nri.sock
	Node    Node
	Cgroups Cgroups
	Log     logr.Logger
	Observe func(hook string, took time.Duration, err error)
	// Panicked is called when a hook has panicked. The deferred function that recovers the panic
	// calls it, so that a stack trace taken in Panicked shows where the panic began.
	Panicked func(object string, cause any)
}

// Plugin is the NRI plugin of the agent. It keeps the connection to the container runtime.
type Plugin struct {
	o  Options
	mu struct {
		sync.Mutex
		notReady error // the result of Ready: nil while the plugin is connected and the runtime has called Synchronize
	}
}

// New returns a plugin that does not connect until Run is called.
func New(o Options) *Plugin {
	p := &Plugin{o: o}
	p.mu.notReady = errors.New("not connected to the container runtime yet")
	return p
}

// Ready returns nil while the plugin is connected to the container runtime and the runtime has
// called the hook Synchronize. Otherwise it returns the reason why not.
func (p *Plugin) Ready() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.notReady
}

func (p *Plugin) setReady(reason error) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed = fmt.Sprint(p.mu.notReady) != fmt.Sprint(reason)
	p.mu.notReady = reason
	return changed
}

// Run connects to the container runtime, and connects again whenever the connection is lost. It
// returns when ctx ends. It returns ErrUnsupported if the runtime is not supported.
func (p *Plugin) Run(ctx context.Context) error {
	for delay := minDelay; ; delay = min(2*delay, maxDelay) {
		synced, err := p.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		changed := p.setReady(err)
		if errors.Is(err, ErrUnsupported) {
			return err
		}
		if changed {
			p.o.Log.Error(err, "not connected to the container runtime; retrying")
		}
		if synced {
			delay = minDelay
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(delay):
		}
	}
}

// connect serves one connection until the connection ends. It reports whether the container runtime
// has called the hook Synchronize on this connection.
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
		case <-time.After(stubTimeout):
		}
	}
	if err == nil {
		err = errors.New("connection lost")
	}
	return done.Load(), fmt.Errorf("serve the container runtime over %s: %w", p.o.Socket, err)
}

// newStub returns a stub, an object of NRI's library for plugins, for one connection. A stub cannot
// be used for a second connection.
func (p *Plugin) newStub(conn net.Conn, synced func()) (stub.Stub, error) {
	hooks := &plugin{node: p.o.Node, cgroups: p.o.Cgroups, log: p.o.Log, observe: p.o.Observe, panicked: p.o.Panicked, synced: synced}
	s, err := stub.New(hooks,
		stub.WithPluginName(Name), stub.WithPluginIdx(Index),
		stub.WithConnection(conn), stub.WithOnClose(func() {}),
		stub.WithLogger(logger{p.o.Log}),
		// With NRI ≥ 0.12.5, this option makes an operation of the container runtime fail if the
		// plugin does not answer in time. Runtimes with an older NRI ignore the option, and may
		// start the container unpinned.
		stub.WithFailurePolicy(&api.FailurePolicy{FailRequest: true}))
	if err != nil {
		return nil, fmt.Errorf("create NRI plugin: %w", err)
	}
	hooks.runtimeTimeout = s.RequestTimeout
	return s, nil
}

// watchedConn is a connection that closes its channel `lost` when a read from the connection fails.
type watchedConn struct {
	net.Conn
	once sync.Once
	lost chan struct{}
}

func (w *watchedConn) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil {
		w.once.Do(func() { close(w.lost) })
	}
	return n, err
}

func dial(socket string) (*watchedConn, error) {
	conn, err := net.Dial("unix", socket)
	switch {
	case err == nil:
		return &watchedConn{Conn: conn, lost: make(chan struct{})}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("find the NRI socket %s: %w; enable NRI, which is the default in containerd ≥ 2.0 (plugins.'io.containerd.nri.v1.nri'.disable = false) and in CRI-O (enable_nri = true), mount the directory of the socket into this container, or run with --enforce=cgroup", socket, err)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("connect to the NRI socket %s: %w; run as root", socket, err)
	}
	return nil, fmt.Errorf("connect to the NRI socket %s: %w; check that the container runtime is running", socket, err)
}
