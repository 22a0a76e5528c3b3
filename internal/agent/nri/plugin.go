package nri

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/workload"
)

// Node decides. An error fails what the runtime was about to do, except in
// StopSandbox, RemoveSandbox and Remove, which nothing can stop.
type Node interface {
	Synchronize(context.Context, []workload.Sandbox, []workload.Container)
	RunSandbox(context.Context, workload.Sandbox) error
	Create(context.Context, workload.Container) (workload.Answer, error)
	Start(context.Context, workload.Container) error
	Update(ctx context.Context, c workload.Container, want workload.Resources) (workload.Decision, error)
	Updated(context.Context, workload.Container) error
	Remove(workload.Container)
	StopSandbox(context.Context, workload.Sandbox)
	RemoveSandbox(context.Context, workload.Sandbox)
}

// plugin has one method per hook; the stub finds them by their interfaces.
type plugin struct {
	node    Node
	log     logr.Logger
	observe func(hook string, took time.Duration, err error)
	synced  func()
	// granted is how long the runtime waits for a hook, known from Configure on.
	granted func() time.Duration
	timeout atomic.Int64 // nanoseconds after which a hook gives up by itself
	op      atomic.Uint64
}

// hook starts a hook: a context that ends in time, with a logger that carries
// the operation's id. Its end must be deferred with the hook's error.
func (p *plugin) hook(ctx context.Context, name string, of ...any) (_ context.Context, end func(*error)) {
	log := p.log.WithValues("op", p.op.Add(1), "hook", name).WithValues(of...)
	ctx, cancel := context.WithTimeout(logr.NewContext(ctx, log), time.Duration(p.timeout.Load()))
	log.V(4).Info("begin")
	start := time.Now()
	return ctx, func(err *error) {
		cancel()
		took := time.Since(start)
		p.observe(name, took, *err)
		log.V(4).Info("end", "took", took, "err", *err)
	}
}

// Configure is the runtime introducing itself. An administrator may let it wait
// longer than 2 s (containerd: plugin_request_timeout).
func (p *plugin) Configure(_ context.Context, _, runtime, version string) (api.EventMask, error) {
	if err := supported(runtime, version); err != nil {
		return 0, err
	}
	granted := p.granted()
	p.timeout.Store(int64(granted * 3 / 4))
	p.log.Info("registered with the container runtime", "runtime", runtime, "version", version, "waits", granted)
	return subscription(version), nil
}

func podOf(p *api.PodSandbox) []any { return []any{"pod", p.GetNamespace() + "/" + p.GetName()} }

func containerOf(p *api.PodSandbox, c *api.Container) []any {
	return append(podOf(p), "container", c.GetName(), "id", c.GetId())
}
