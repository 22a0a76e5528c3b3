package kubelet

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// Waits between attempts to reach the kubelet: they double from first to last.
// The first is long enough for the kubelet to notice that the streams of the
// session before have ended: when it notices that after the new registration,
// it disconnects the new one (runClient in its device manager goes by name).
const (
	firstWait = 200 * time.Millisecond
	lastWait  = 5 * time.Second
)

// Options is what a Publisher works with; all of it is needed.
type Options struct {
	Root    string                               // the kubelet's root directory
	Sources []Source                             // what there is to publish
	Tick    <-chan time.Time                     // when to look at all sources and at the kubelet again
	After   func(time.Duration) <-chan time.Time // time.After
	Log     logr.Logger
	Metrics prometheus.Registerer
}

// Publisher keeps the kubelet told of what there is: extended resources, and the
// devices of each.
//
// It is crash-only: whatever goes wrong between it and the kubelet (either
// restarts, a socket vanishes, a stream ends) ends the session, and the next
// one serves and registers everything anew. Repairing single connections was
// rejected: the kubelet itself, at its start, removes all sockets and forgets
// all registrations.
type Publisher struct {
	Options
	dir          string // where the kubelet looks for plugins
	registry     string // its socket there
	podResources string // the socket of its pod resources API
	metrics      metrics
	news         chan struct{} // see Poke

	// Owned by Run.
	plugins map[string]*plugin // by resource; one whose devices all went stays, with none
	last    view               // what the kubelet said last
	unread  error              // what the last refresh could not read
	settled bool               // the session has seen a tick
	dropper os.FileInfo        // the kubelet that ended a stream, until it restarts

	mu struct {
		sync.Mutex
		problem error // why not ready
	}
}

// NewPublisher returns a Publisher that has done nothing yet.
func NewPublisher(o Options) *Publisher {
	dir := filepath.Join(o.Root, "device-plugins")
	p := &Publisher{
		Options:      o,
		dir:          dir,
		registry:     filepath.Join(dir, "kubelet.sock"),
		podResources: podResourcesSocket(o.Root),
		metrics:      newMetrics(o.Metrics),
		plugins:      map[string]*plugin{},
		news:         make(chan struct{}, 1),
	}
	p.mu.problem = errStarting
	return p
}

// Poke says that a source has changed. It returns at once.
func (p *Publisher) Poke() {
	select {
	case p.news <- struct{}{}:
	default: // somebody said so already
	}
}

// Run publishes until ctx ends. Nothing that the kubelet does ends it; it
// returns nil.
func (p *Publisher) Run(ctx context.Context) error {
	hints, err := notify(ctx, p.registry)
	if err != nil {
		p.Log.Info("cannot watch the kubelet's directory, looking at every tick only", "dir", p.dir, "reason", err.Error())
	}
	for failures := 0; ; failures++ {
		p.settled = false
		err := p.attend(ctx, hints)
		if ctx.Err() != nil {
			return nil
		}
		p.setProblem(err)
		if p.settled {
			failures = 0
		}
		p.rest(ctx, failures, hints)
	}
}

// rest waits before the next attempt, but not once the kubelet's socket appears.
func (p *Publisher) rest(ctx context.Context, failures int, hints <-chan struct{}) {
	select {
	case <-p.After(backOff(failures)):
	case <-hints:
	case <-ctx.Done():
	}
}

// backOff returns how long to wait after so many failures before the last.
func backOff(failures int) time.Duration { return min(lastWait, firstWait<<min(failures, 10)) }

// Ready returns nil while the kubelet knows all resources, else why not.
func (p *Publisher) Ready() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.problem
}

// setProblem remembers why the publisher is not ready, nil when it is, and logs
// what is new.
func (p *Publisher) setProblem(err error) {
	p.mu.Lock()
	before := p.mu.problem
	p.mu.problem = err
	p.mu.Unlock()
	switch {
	case err == nil && before != nil:
		p.Log.Info("the kubelet knows all resources")
	case err != nil && (before == nil || before.Error() != err.Error()):
		p.Log.Info("not ready", "reason", err.Error())
	}
}
