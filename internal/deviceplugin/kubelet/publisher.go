package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Delay between attempts to reach the kubelet, which doubles from min to max. The
// minimum is long enough for the kubelet to see that the streams of the previous
// session have ended. If it sees that after the new registration, it disconnects
// the new one, because runClient in its device manager identifies plugins by name.
const (
	minRetryDelay = 200 * time.Millisecond
	maxRetryDelay = 5 * time.Second
)

// Options of NewPublisher. All fields are required.
type Options struct {
	Root    string                               // the kubelet's root directory
	Sources []Source                             // the devices to publish
	Tick    <-chan time.Time                     // when to list all sources and check the kubelet
	After   func(time.Duration) <-chan time.Time // time.After
	Log     logr.Logger
	Metrics prometheus.Registerer
}

// Publisher publishes extended resources and their devices to the kubelet.
//
// It is crash-only: any failure between it and the kubelet (a restart of either,
// a removed socket, an ended stream) ends the session, and the next one serves and
// registers everything again. Repair of single connections was rejected, because
// the kubelet removes all sockets and registrations when it starts.
type Publisher struct {
	Options
	dir          string // the kubelet's directory of plugin sockets
	registry     string // the kubelet's own socket in dir
	podResources string // the socket of its pod resources API
	metrics      metrics
	changed      chan struct{} // see Notify

	// Owned by Run.
	plugins     map[string]*plugin // by resource; one without devices stays
	allocations allocations        // from the kubelet's last answer
	listError   error              // of the last refresh
	stable      bool               // the session has lasted until a tick
	droppedBy   os.FileInfo        // the kubelet that ended a stream, until it restarts

	mu struct {
		sync.Mutex
		notReady error
	}
}

// panicked counts and logs a panic in a call of the kubelet. It is called where the panic is
// recovered, so the stack still has its cause.
func (p *Publisher) panicked(call string, cause any) {
	p.metrics.panics.Inc()
	p.Log.Error(fmt.Errorf("panic: %v", cause), "the kubelet's call failed; please report this with the stack", "call", call, "stack", string(debug.Stack()))
}

// NewPublisher returns a Publisher that publishes nothing before Run.
func NewPublisher(o Options) *Publisher {
	dir := filepath.Join(o.Root, "device-plugins")
	p := &Publisher{
		Options:      o,
		dir:          dir,
		registry:     filepath.Join(dir, "kubelet.sock"),
		podResources: podResourcesSocket(o.Root),
		metrics:      newMetrics(o.Metrics),
		plugins:      map[string]*plugin{},
		changed:      make(chan struct{}, 1),
	}
	p.mu.notReady = errStarting
	return p
}

// Notify requests a new list because a source has changed. It does not block.
func (p *Publisher) Notify() {
	select {
	case p.changed <- struct{}{}:
	default: // one is already requested
	}
}

// Run publishes until ctx ends, whatever the kubelet does, and returns nil.
func (p *Publisher) Run(ctx context.Context) error {
	hints, err := watchFile(ctx, p.registry)
	if err != nil {
		p.Log.Info("cannot watch the kubelet's directory; checking it only periodically", "dir", p.dir, "reason", err.Error())
	}
	for failures := 0; ; failures++ {
		p.stable = false
		err := p.runSession(ctx, hints)
		if ctx.Err() != nil {
			return nil
		}
		p.setNotReady(err)
		if p.stable {
			failures = 0
		}
		p.waitForRetry(ctx, failures, hints)
	}
}

// waitForRetry waits before the next attempt, at most until the kubelet's socket
// changes.
func (p *Publisher) waitForRetry(ctx context.Context, failures int, hints <-chan struct{}) {
	select {
	case <-p.After(backOff(failures)):
	case <-hints:
	case <-ctx.Done():
	}
}

// backOff returns the delay after the given number of earlier failures.
func backOff(failures int) time.Duration {
	return min(maxRetryDelay, minRetryDelay<<min(failures, 10))
}

// Ready returns nil while all resources are registered, else the reason.
func (p *Publisher) Ready() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.notReady
}

// setNotReady records why the publisher is not ready, nil if it is, and logs
// changes.
func (p *Publisher) setNotReady(err error) {
	p.mu.Lock()
	before := p.mu.notReady
	p.mu.notReady = err
	p.mu.Unlock()
	switch {
	case err == nil && before != nil:
		p.Log.Info("all resources are registered with the kubelet")
	case err != nil && (before == nil || before.Error() != err.Error()):
		p.Log.Info("not ready", "reason", err.Error())
	}
}

// refresh lists all sources and publishes the result. If the kubelet does not
// answer, its last known allocations are used. A source that fails keeps its last
// list and does not affect the others.
func (p *Publisher) refresh(ctx context.Context) {
	if now, err := readAllocations(ctx, p.podResources); err != nil {
		p.Log.V(2).Info("cannot read the kubelet's allocations", "reason", err.Error())
	} else {
		p.allocations = now
	}
	var errs []error
	for _, source := range p.Sources {
		lists, err := source.list(previous{p.held, p.devices})
		errs = append(errs, err)
		for resource, devices := range lists {
			if p.plugins[resource] == nil {
				p.plugins[resource] = newPlugin(resource, source)
			}
			p.publish(p.plugins[resource], devices)
		}
	}
	p.listError = errors.Join(errs...)
}

// sorted returns the plugins, ordered by resource.
func (p *Publisher) sorted() []*plugin {
	return slices.SortedFunc(maps.Values(p.plugins), func(a, b *plugin) int { return cmp.Compare(a.resource, b.resource) })
}

func (p *Publisher) publish(one *plugin, devices []*pluginapi.Device) {
	if !one.publish(devices) {
		return
	}
	healthy := 0
	for _, device := range devices {
		if device.Health == pluginapi.Healthy {
			healthy++
		}
	}
	p.metrics.devices.WithLabelValues(one.resource, "healthy").Set(float64(healthy))
	p.metrics.devices.WithLabelValues(one.resource, "unhealthy").Set(float64(len(devices) - healthy))
	p.Log.Info("published", "resource", one.resource, "capacity", len(devices), "allocatable", healthy)
}

// held returns the devices that containers hold, by the kubelet's last answer.
func (p *Publisher) held(resource string) map[string]bool { return p.allocations.held[resource] }

// devices returns the list that was published last.
func (p *Publisher) devices(resource string) []*pluginapi.Device {
	if one := p.plugins[resource]; one != nil {
		devices, _ := one.devices()
		return devices
	}
	return nil
}

// conflict returns an error if the kubelet lists devices of another plugin under
// one of the resources: the last registration wins, without an error. Registering again would only
// make the two plugins replace each other, so the conflict is reported until the other plugin has
// gone.
func (p *Publisher) conflict() error {
	var errs []error
	for _, one := range p.sorted() {
		foreign := p.foreign(one)
		p.metrics.conflict.WithLabelValues(one.resource).Set(float64(min(1, len(foreign))))
		if len(foreign) > 0 {
			errs = append(errs, fmt.Errorf("another device plugin serves %s, for example its device %q; remove that plugin", one.resource, foreign[0]))
		}
	}
	return errors.Join(errs...)
}

func (p *Publisher) foreign(one *plugin) []string {
	var ids []string
	for id := range p.allocations.healthy[one.resource] {
		if !one.source.owns(one.resource, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
