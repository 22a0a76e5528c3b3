package pipeline

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Queue has the pending pods. Its methods may be called from any goroutine.
type Queue interface {
	// Next waits for the pod whose turn it is. Its error ends the pipeline.
	Next(context.Context) (*sched.Pod, error)
	// Requeue returns a pod that is to be retried.
	Requeue(*sched.Pod)
	// MarkUnschedulable returns a pod that fitted no node as of freedSeq
	// (nodestate.View.FreedSeq). The queue retries it when this counter has grown.
	MarkUnschedulable(pod *sched.Pod, freedSeq uint64)
}

// Gate is an optional interface of a Queue that keeps pods in order until they are placed.
type Gate interface {
	// Permit reports whether a pod may be placed now. If not, the queue has taken it
	// back. A pod that is permitted is placed or returned before the next call. Placed
	// must be called only if the pod is awaited.
	Permit(*sched.Pod) (ok, awaited bool)
	// Placed records that an awaited pod has a node.
	Placed(*sched.Pod)
	// Undone returns a pod that was placed and could not be bound.
	Undone(*sched.Pod)
}

// open is a Gate that permits every pod.
type open struct{ Queue }

func (open) Permit(*sched.Pod) (ok, awaited bool) { return true, false }
func (open) Placed(*sched.Pod)                    {}
func (o open) Undone(pod *sched.Pod)              { o.Requeue(pod) }

// Config configures a Pipeline. More proposers than pending pods have no effect.
type Config struct {
	Proposers []ProposerOptions // one for each proposer
	Filter    sched.Filter      // the committer's own instance; nil for none
	Binders   int               // number of concurrent binds, at least 1
	// Bind binds a decision; an error means that the pod is not bound. A bind that may take a long
	// time calls detach. Another goroutine then replaces it among the binders, so that it delays no
	// other pod.
	Bind   func(ctx context.Context, d sched.Decision, detach func()) error
	Undone func(sched.Decision) // called after a decision was undone, because its node may fit other pods; may be nil
	// Panicked is called after a pod or a gang has caused a panic in a proposer, in the committer
	// or in a binder, where the panic is recovered. The pod then backs off, unless it is bound. If
	// Panicked is nil, panics are not recovered.
	Panicked func(pod *sched.Pod, cause any)
	// Resolve waits until it knows whether a decision is bound, after Bind has panicked. As with
	// Bind, an error means that the pod is not bound. If Resolve is nil or panics, the pod keeps
	// its resources until it ends.
	Resolve func(ctx context.Context, d sched.Decision) error
}

// Pipeline runs the proposers, the committer and the binders. The package comment
// describes its steps.
type Pipeline struct {
	state     *nodestate.State
	queue     Queue
	gate      Gate
	config    Config
	committer *Committer
	lists     chan sched.List
	decisions *decisionQueue
	binders   sync.WaitGroup
	detached  atomic.Int32
}

// maxDetached limits how many binds run outside the binders. When the limit is reached, binders
// wait, so that an API server that does not answer does not get more and more requests.
const maxDetached = 1024

// New returns a pipeline, which Run starts.
func New(state *nodestate.State, q Queue, config Config) *Pipeline {
	config.Binders = max(1, config.Binders)
	p := &Pipeline{
		state: state, queue: q, gate: open{q}, config: config,
		lists:     make(chan sched.List, 2*len(config.Proposers)),
		decisions: newDecisionQueue(config.Binders),
	}
	if gate, ok := q.(Gate); ok {
		p.gate = gate
	}
	p.committer = NewCommitter(state, config.Filter, Effects{
		Bind: p.decisions.put, Requeue: q.Requeue, Undone: p.gate.Undone, MarkUnschedulable: q.MarkUnschedulable,
		Widen: NewProposer(state.View, ProposerOptions{Filter: config.Filter}).Propose,
	})
	return p
}

// Run schedules pods until the queue returns an error. It returns that error after
// all pending decisions are bound or undone. It may be called once.
func (p *Pipeline) Run(ctx context.Context) error {
	var err error
	var proposers sync.WaitGroup
	// 1. Proposers take pods in the queue's order and make first lists.
	var once sync.Once
	for _, o := range p.config.Proposers {
		proposers.Go(func() {
			e := p.propose(ctx, NewProposer(p.state.View, o))
			once.Do(func() { err = e })
		})
	}
	// 2. The FIFO of lists is closed after the last proposer has returned.
	go func() { proposers.Wait(); close(p.lists) }()
	// 3. Binders bind decisions, and undo those that cannot be bound.
	for range p.config.Binders {
		p.binders.Go(func() { p.bind(ctx) })
	}
	// 4. The committer handles one list at a time, for pods that the gate permits.
	for list := range p.lists {
		if ok, awaited := p.gate.Permit(list.Pod); ok && p.commit(list) && awaited {
			p.gate.Placed(list.Pod)
		}
	}
	// 5. Binders finish the remaining decisions.
	p.decisions.close()
	p.binders.Wait()
	return err
}

func (p *Pipeline) propose(ctx context.Context, proposer *Proposer) error {
	for {
		pod, err := p.queue.Next(ctx)
		if err != nil {
			return err
		}
		if list, ok := p.list(proposer, pod); ok {
			p.lists <- list
		}
	}
}

// bind binds decisions one at a time, until the last one or until one of them was
// detached: another goroutine then binds the rest.
func (p *Pipeline) bind(ctx context.Context) {
	for {
		d, ok := p.decisions.take()
		if !ok || p.bindOne(ctx, d) {
			return
		}
	}
}

// bindOne binds a decision or undoes it. It reports whether the bind was detached.
func (p *Pipeline) bindOne(ctx context.Context, decision sched.Decision) (detached bool) {
	detach := func() {
		if detached {
			return
		}
		if p.detached.Add(1) > maxDetached {
			p.detached.Add(-1)
			return
		}
		detached = true
		p.binders.Go(func() { p.bind(ctx) })
	}
	if err := p.tryBind(ctx, decision, detach); err != nil {
		p.undo(decision)
	}
	if detached {
		p.detached.Add(-1)
	}
	return detached
}

func (p *Pipeline) undo(decision sched.Decision) {
	defer p.contain(decision.Pod, func() {})
	p.committer.Undo(decision)
	if p.config.Undone != nil {
		p.config.Undone(decision)
	}
}

// Depth returns the number of lists that wait for the committer.
func (p *Pipeline) Depth() int { return len(p.lists) }

// Counters returns the committer's counters.
func (p *Pipeline) Counters() Counters { return p.committer.Counters() }
