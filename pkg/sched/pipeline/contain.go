package pipeline

import (
	"context"

	"github.com/numalet/numalet/pkg/sched"
)

// A panic in a proposer, in the committer or in a binder is most likely caused by the one pod that
// is being handled. If the panic ended the process, that pod would cause the panic again in the
// next process. All pods would wait until somebody finds that pod. To prevent this, the pipeline
// recovers the panic, the pod backs off (waits a while before its retry), and the scheduler
// continues with the other pods. Placements that the committer made for the pod before the panic,
// and did not pass to a binder, are undone. All other data stays valid: locks that are held while
// filters run are released by defer, and the filters are prepared anew for each pod (Begin).
//
// A binder may have sent the Binding to the API server before it panicked, and the Binding may take
// effect later. So the pod keeps its resources on the node until Config.Resolve knows whether the
// pod is bound.

// list makes the list of nodes for a pod. It returns false if the proposer panicked.
func (p *Pipeline) list(proposer *Proposer, pod *sched.Pod) (list sched.List, ok bool) {
	defer p.contain(pod, func() { p.gate.Undone(pod) })
	return proposer.Propose(pod), true
}

// commit passes a list to the committer, which places the list's pod. It returns false if the pod
// was not placed.
func (p *Pipeline) commit(list sched.List) bool {
	defer p.contain(list.Pod, func() {
		p.committer.abandon()
		p.gate.Undone(list.Pod)
	})
	return p.committer.Commit(list)
}

// tryBind binds a decision. If Bind panics, tryBind calls the function in the argument `detach`, so
// that another goroutine binds the next decisions. Then it calls Resolve, which waits until it
// knows whether the pod is bound.
func (p *Pipeline) tryBind(ctx context.Context, decision sched.Decision, detach func()) (err error) {
	defer p.contain(decision.Pod, func() {
		detach()
		err = p.resolve(ctx, decision)
	})
	return p.config.Bind(ctx, decision, detach)
}

// resolve returns nil if a decision is bound, or if it cannot be found out whether it is bound,
// because Config.Resolve is nil or panics.
func (p *Pipeline) resolve(ctx context.Context, decision sched.Decision) error {
	if p.config.Resolve == nil {
		return nil
	}
	defer p.contain(decision.Pod, func() {})
	return p.config.Resolve(ctx, decision)
}

// contain must be deferred by a function that handles the given pod. If that function panics,
// contain recovers the panic, reports it to Config.Panicked, and calls the function in the argument
// `then`. Without a panic, or if Config.Panicked is nil, it does nothing.
func (p *Pipeline) contain(pod *sched.Pod, then func()) {
	if p.config.Panicked == nil {
		return
	}
	if cause := recover(); cause != nil {
		p.config.Panicked(pod, cause)
		then()
	}
}

// abandon is called after a panic of the committer. It undoes the decisions for the current list
// that were recorded or reserved, but not passed to a binder yet.
func (c *Committer) abandon() {
	c.reserver.Unreserve(c.reserving)
	c.retract(c.open)
	c.open = c.open[:0]
}
