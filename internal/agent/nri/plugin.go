package nri

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/workload"
)

// Node decides which CPUs containers get. For each hook about sandboxes or containers, the plugin
// calls one method of Node. If the method returns an error, the hook fails, and the operation
// of the container runtime also fails. The methods whose results include no error cannot fail.
type Node interface {
	Synchronize(context.Context, []workload.Sandbox, []workload.Container)
	RunSandbox(context.Context, workload.Sandbox) error
	Create(context.Context, workload.Container) (workload.Answer, error)
	Start(context.Context, workload.Container) error
	Update(ctx context.Context, c workload.Container, want workload.Resources) (workload.Answer, error)
	Updated(context.Context, workload.Container) error
	Remove(workload.Container)
	StopSandbox(context.Context, workload.Sandbox)
	RemoveSandbox(context.Context, workload.Sandbox)
}

// Cgroups ends containers that the container runtime would start although the plugin has refused the
// start (see ignoresRefusal).
type Cgroups interface {
	Kill(cgroup string) error
	CheckKill() error // nil if Kill works on this node
}

// plugin has one method for each hook. NRI's library for plugins, the stub, has one interface for
// each hook. Unless Configure selects other hooks, the stub subscribes to each hook whose interface
// the type `plugin` implements.
type plugin struct {
	node    Node
	cgroups Cgroups
	log     logr.Logger
	observe func(hook string, took time.Duration, err error)
	// panicked is called when a hook has panicked. The deferred function that recovers the panic
	// calls it, so that a stack trace taken in panicked shows where the panic began.
	panicked func(object string, cause any)
	synced   func()
	// runtimeTimeout returns how long the container runtime waits for a hook. The result is valid
	// once Configure has been called.
	runtimeTimeout func() time.Duration
	timeout        atomic.Int64 // how long a hook may take, in nanoseconds
	mustKill       atomic.Bool  // the result of ignoresRefusal for the connected container runtime
	op             atomic.Uint64
}

// hook is called at the start of each hook that calls Node. It returns a context with a timeout.
// The context also has a logger, which adds a number for this call of the hook (the key op) to each
// message. The second result is the function `end`. The hook must defer a call of `end` with a
// pointer to the error that the hook returns.
//
// `end` recovers a panic of the hook, so that only this hook fails. If the panic ended the agent,
// the container runtime could continue without the agent, and the same pod would cause a panic in
// the next agent, too.
func (p *plugin) hook(ctx context.Context, name string, of ...any) (_ context.Context, end func(*error)) {
	log := p.log.WithValues("op", p.op.Add(1), "hook", name).WithValues(of...)
	ctx, cancel := context.WithTimeout(logr.NewContext(ctx, log), time.Duration(p.timeout.Load()))
	log.V(4).Info("begin")
	start := time.Now()
	return ctx, func(err *error) {
		if cause := recover(); cause != nil {
			*err = fmt.Errorf("numalet: the hook %s panicked: %v; please report this with the agent's log, which has the stack", name, cause)
			p.panicked(fmt.Sprint("hook ", name, " of ", of), cause)
		}
		cancel()
		took := time.Since(start)
		p.observe(name, took, *err)
		log.V(4).Info("end", "took", took, "err", *err)
	}
}

// Configure is called by the container runtime before all other hooks, with the runtime's name and
// version. It sets the timeout of each hook to three quarters of the runtime's own timeout for
// hooks, which is 2 s by default (containerd: plugin_request_timeout).
func (p *plugin) Configure(_ context.Context, _, runtime, version string) (api.EventMask, error) {
	if err := supported(runtime, version); err != nil {
		return 0, err
	}
	mustKill := ignoresRefusal(runtime)
	if mustKill {
		if err := p.cgroups.CheckKill(); err != nil {
			return 0, fmt.Errorf("%s starts containers even if the agent refuses the start, and the agent cannot end them: %w: %w", runtime, err, ErrUnsupported)
		}
	}
	p.mustKill.Store(mustKill)
	timeout := p.runtimeTimeout()
	p.timeout.Store(int64(timeout * 3 / 4))
	p.log.Info("registered with the container runtime", "runtime", runtime, "version", version, "timeout", timeout)
	return subscription(runtime, version), nil
}

func podOf(p *api.PodSandbox) []any { return []any{"pod", p.GetNamespace() + "/" + p.GetName()} }

func containerOf(p *api.PodSandbox, container *api.Container) []any {
	return append(podOf(p), "container", container.GetName(), "id", container.GetId())
}

// logger passes the messages of NRI's stub to logr. Informational messages have the level V(4).
type logger struct{ to logr.Logger }

func (l logger) Debugf(_ context.Context, format string, args ...any) {
	l.to.V(6).Info("NRI stub: " + fmt.Sprintf(format, args...))
}

func (l logger) Infof(_ context.Context, format string, args ...any) {
	l.to.V(4).Info("NRI stub: " + fmt.Sprintf(format, args...))
}

func (l logger) Warnf(_ context.Context, format string, args ...any) {
	l.to.Info("NRI stub: " + fmt.Sprintf(format, args...))
}

func (l logger) Errorf(_ context.Context, format string, args ...any) {
	l.to.Info("NRI stub: error: " + fmt.Sprintf(format, args...))
}
