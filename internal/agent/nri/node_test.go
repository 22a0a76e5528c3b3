package nri

import (
	"context"
	"fmt"
	"sync"

	"github.com/numalet/numalet/pkg/workload"
)

// recorder is a fake Node and a fake Cgroups. It records the calls of its methods, and returns the
// answers that a test has set in its fields.
type recorder struct {
	mu       sync.Mutex
	calls    []string
	last     workload.Container
	decision workload.Decision
	specs    []workload.Spec
	gpus     string
	err      error
	hang     bool // calls return only when the hook's context ends
	panics   bool

	cannotKill error // the result of Kill and CheckKill
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
}

// taken returns the calls that were recorded since `taken` was called last.
func (r *recorder) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

func (r *recorder) answer(ctx context.Context) error {
	if r.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if r.panics {
		panic("no such pod")
	}
	return r.err
}

func (r *recorder) Synchronize(_ context.Context, s []workload.Sandbox, c []workload.Container) {
	r.note("synchronize %d sandboxes", len(s))
	for _, c := range c {
		r.note("has %s on %s", c, c.Resources.CPUs)
	}
}

func (r *recorder) RunSandbox(ctx context.Context, sandbox workload.Sandbox) error {
	r.note("run sandbox %s of %s in %s", sandbox.ID, sandbox.Pod, sandbox.Cgroup)
	return r.answer(ctx)
}

func (r *recorder) Create(ctx context.Context, container workload.Container) (workload.Answer, error) {
	r.last = container
	r.note("create %s", container)
	return workload.Answer{Decision: r.decision, Specs: r.specs, GPUs: r.gpus}, r.answer(ctx)
}

func (r *recorder) Start(ctx context.Context, container workload.Container) error {
	r.note("start %s", container)
	return r.answer(ctx)
}

func (r *recorder) Kill(cgroup string) error {
	r.note("kill %s", cgroup)
	return r.cannotKill
}

func (r *recorder) CheckKill() error { return r.cannotKill }

func (r *recorder) Update(ctx context.Context, container workload.Container, want workload.Resources) (workload.Answer, error) {
	r.note("update %s to %d shares, quota %d/%d", container, want.Shares, want.QuotaMicros, want.PeriodMicros)
	return workload.Answer{Decision: r.decision, Specs: r.specs}, r.answer(ctx)
}

func (r *recorder) Updated(ctx context.Context, container workload.Container) error {
	r.note("updated %s", container)
	return r.answer(ctx)
}

func (r *recorder) Remove(container workload.Container) { r.note("remove %s", container) }

func (r *recorder) StopSandbox(_ context.Context, sandbox workload.Sandbox) {
	r.note("stop sandbox %s of %s", sandbox.ID, sandbox.Pod)
}

func (r *recorder) RemoveSandbox(_ context.Context, sandbox workload.Sandbox) {
	r.note("remove sandbox %s of %s", sandbox.ID, sandbox.Pod)
}
