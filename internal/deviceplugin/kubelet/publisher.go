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

// minRetryDelay and maxRetryDelay limit the delay between attempts to reach the kubelet. The delay
// doubles from the minimum to the maximum. The minimum is long enough for the kubelet to see that
// the streams of the previous session have ended. When the kubelet sees that a stream has ended, it
// removes the registration with the name of the stream's plugin (runClient in its device manager).
// If the plugin had registered again by then, the kubelet would remove this new registration, which
// has the same name.
const (
	minRetryDelay = 200 * time.Millisecond
	maxRetryDelay = 5 * time.Second
)

// Options are the options of NewPublisher. All fields are required.
type Options struct {
	Root    string                               // the kubelet's root directory
	Sources []Source                             // the devices to publish
	Tick    <-chan time.Time                     // ticks when it is time to list all sources and to check the kubelet
	After   func(time.Duration) <-chan time.Time // time.After, or a fake of it in tests
	Log     logr.Logger
	Metrics prometheus.Registerer
}

// Publisher publishes extended resources and their devices to the kubelet.
//
// The Publisher works in sessions. A session ends when the kubelet restarts, a socket is removed, or
// the kubelet ends a stream. The next session serves and registers all resources again. The
// Publisher does not repair single connections, because they are all lost when the kubelet restarts:
// when it starts, it removes all sockets and registrations.
type Publisher struct {
	Options
	dir          string // the kubelet's directory of plugin sockets
	registry     string // the kubelet's own socket in dir
	podResources string // the socket of the kubelet's pod resources API
	metrics      metrics
	changed      chan struct{} // receives a value when Notify is called

	// Only Run and the functions that it calls use these fields.
	plugins     map[string]*plugin // by resource; a plugin stays even if it has no devices left
	allocations allocations        // the last answer of the kubelet's pod resources API
	answered    bool               // whether this API answered when the method `refresh` was last called
	listError   error              // the error of the last call of the method `refresh`
	stable      bool               // whether the current session has lasted until a tick
	droppedBy   os.FileInfo        // the file of the kubelet's socket when the kubelet ended a stream (a restarted kubelet has another file); nil if the kubelet has ended no stream since the last registration

	mu struct {
		sync.Mutex
		notReady error
	}
}

// panicked counts and logs a panic in a call from the kubelet. It must be called by the deferred
// function that calls recover. The stack then still has the calls that led to the panic, so that
// the log shows where the panic happened.
func (p *Publisher) panicked(call string, cause any) {
	p.metrics.panics.Inc()
	p.Log.Error(fmt.Errorf("panic: %v", cause), "the kubelet's call failed; please report this with the stack", "call", call, "stack", string(debug.Stack()))
}

// NewPublisher returns a Publisher. It publishes nothing until Run is called.
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

// Notify tells Run that a source has changed, so that Run lists the devices again. It does not
// block.
func (p *Publisher) Notify() {
	select {
	case p.changed <- struct{}{}:
	default: // a new list is already requested
	}
}

// Run publishes devices until ctx ends, and then returns nil. If the kubelet fails, Run does not
// return, but tries again.
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

// waitForRetry waits before the next session. The wait ends early if the kubelet's socket
// changes.
func (p *Publisher) waitForRetry(ctx context.Context, failures int, hints <-chan struct{}) {
	select {
	case <-p.After(backOff(failures)):
	case <-hints:
	case <-ctx.Done():
	}
}

// backOff returns the delay before the next session, after this number of consecutive failures.
func backOff(failures int) time.Duration {
	return min(maxRetryDelay, minRetryDelay<<min(failures, 10))
}

// Ready returns nil if all resources are registered, the devices of all sources could be listed,
// and no other device plugin serves one of the resources. Otherwise it returns the reason.
func (p *Publisher) Ready() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.notReady
}

// setNotReady records why the publisher is not ready, and logs changes. A nil error means that it
// is ready.
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

// refresh lists the devices of all sources and publishes them. If the kubelet does not list the
// allocated devices, refresh uses the kubelet's last answer. If a source fails, its last list stays
// published, and the other sources are not affected.
func (p *Publisher) refresh(ctx context.Context) {
	now, err := readAllocations(ctx, p.podResources)
	if p.answered = err == nil; err != nil {
		p.Log.V(2).Info("cannot read the kubelet's allocations", "reason", err.Error())
	} else {
		p.allocations = now
	}
	var errs []error
	for _, source := range p.Sources {
		lists, err := source.list(previous{p.held, p.devices, p.allocations.pods, !p.answered})
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

// held returns the devices of a resource that containers hold, according to p.allocations.
func (p *Publisher) held(resource string) map[string]bool { return p.allocations.held[resource] }

// devices returns the devices of a resource that were published last.
func (p *Publisher) devices(resource string) []*pluginapi.Device {
	if one := p.plugins[resource]; one != nil {
		devices, _ := one.devices()
		return devices
	}
	return nil
}

// conflict returns an error if another device plugin has registered one of the Publisher's
// resources. In this case, the kubelet lists devices for the resource that do not belong to the
// Publisher. If two plugins register the same resource, the kubelet keeps the last registration and
// reports no error. If the Publisher then registered again, the two plugins would replace each
// other again and again. So the Publisher only reports the conflict. It registers again when the
// other plugin is gone.
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
