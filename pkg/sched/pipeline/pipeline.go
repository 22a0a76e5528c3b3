package pipeline

import (
	"context"
	"sync"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// Queue holds the pending pods. Proposers take one pod after another from it. Its methods may be
// called from any goroutine.
type Queue interface {
	// Next returns the pod that is to be scheduled next. If there is none, Next waits. If Next
	// returns an error, the pipeline ends.
	Next(context.Context) (*sched.Pod, error)
	// Requeue puts a pod back into the queue for a retry (see Effects.Requeue).
	Requeue(*sched.Pod, sched.Reason)
	// MarkUnschedulable returns a pod to the queue because it fits no node. The counter
	// nodestate.View.FreedSeq counts how often resources of nodes were released. freedSeq is the
	// value of this counter when the nodes were read for the pod. The queue may retry the pod when
	// the counter is greater than freedSeq.
	MarkUnschedulable(pod *sched.Pod, freedSeq uint64)
}

// Gate is an optional interface of a Queue. When a pod is about to be placed, such a Queue decides
// whether another pod must be placed before it.
type Gate interface {
	// Permit reports whether a pod may be placed now. If `ok` is false, the queue has taken the pod
	// back. If `ok` is true, the caller places the pod, or returns it to the queue, before it calls
	// Permit again. The result `awaited` is true if other pods wait until this pod is placed. The
	// caller must then call Placed after it has placed the pod. If `awaited` is false, the caller
	// need not call Placed.
	Permit(*sched.Pod) (ok, awaited bool)
	// Placed tells the queue that a node was assigned to a pod for which the result `awaited` of
	// Permit was true.
	Placed(*sched.Pod)
	// Undone puts a pod back into the queue, because it was placed but could not be bound.
	Undone(*sched.Pod)
}

// open is a Gate that permits every pod.
type open struct{ Queue }

func (open) Permit(*sched.Pod) (ok, awaited bool) { return true, false }
func (open) Placed(*sched.Pod)                    {}
func (o open) Undone(pod *sched.Pod)              { o.Requeue(pod, sched.Reason{}) }

// Config configures a Pipeline. If there are more proposers than pending pods, some of the
// proposers wait for a pod.
type Config struct {
	Proposers []ProposerOptions // one for each proposer
	Filter    sched.Filter      // the committer's own instance of the filters in addition to those of package filter; nil for none
	Binders   int               // number of binders, each of which binds one pod at a time; less than 1 counts as 1
	// Bind binds the pod of a decision to its node. An error means that the pod is not bound. If a
	// call of Bind may take a long time, Bind calls `detach`. Another goroutine then binds the next
	// decisions, so that the slow call delays no other pod. Bind must limit how many slow calls send
	// requests at the same time.
	Bind   func(ctx context.Context, d sched.Decision, detach func()) error
	Undone func(sched.Decision) // called after Bind has failed and Committer.Undo has reverted the decision: other pods may now fit the decision's node; may be nil
	// Panicked is called after the pipeline has recovered a panic that a pod or a gang caused in a
	// proposer, in the committer or in a binder. The pod then backs off (waits a while before its
	// retry), unless it is bound or may be bound. If Panicked is nil, panics are not recovered.
	Panicked func(pod *sched.Pod, cause any)
	// Resolve is called after Bind has panicked. It waits until it knows whether the pod is bound.
	// It returns nil if the pod is bound, and an error if not. If Resolve is nil or panics, the
	// pod keeps its resources on the node until the pod ends.
	Resolve func(ctx context.Context, d sched.Decision) error
}

// Pipeline schedules pods: it runs the proposers, which list nodes for pods, the committer, which
// assigns nodes, and the binders, which create Bindings. The package comment describes their
// steps.
type Pipeline struct {
	state     *nodestate.State
	queue     Queue
	gate      Gate
	config    Config
	committer *Committer
	lists     chan sched.List
	decisions *decisionQueue
	binders   sync.WaitGroup
}

// New returns a pipeline. Run starts it.
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

// Run schedules pods until the queue returns an error. It returns the queue's error after all
// pending decisions are bound or undone. It may be called only once.
func (p *Pipeline) Run(ctx context.Context) error {
	var err error
	var proposers sync.WaitGroup
	// 1. Proposers take pods in the queue's order, and make a list of nodes for each pod.
	var once sync.Once
	for _, o := range p.config.Proposers {
		proposers.Go(func() {
			e := p.propose(ctx, NewProposer(p.state.View, o))
			once.Do(func() { err = e })
		})
	}
	// 2. After the last proposer has returned, close the FIFO of lists.
	go func() { proposers.Wait(); close(p.lists) }()
	// 3. Binders bind decisions, and undo those that cannot be bound.
	for range p.config.Binders {
		p.binders.Go(func() { p.bind(ctx) })
	}
	// 4. The committer handles one list at a time. It drops the list of a pod if the gate (the
	//    queue, if it implements Gate) does not permit the pod.
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

// bind is the loop of a binder: it binds decisions one at a time. It returns after the last
// decision. It also returns after a call of Bind that called `detach`, because another goroutine
// then binds the next decisions.
func (p *Pipeline) bind(ctx context.Context) {
	for {
		d, ok := p.decisions.take()
		if !ok || p.bindOne(ctx, d) {
			return
		}
	}
}

// bindOne binds a decision, or undoes it if it cannot be bound. It returns true if Bind called
// `detach` and another goroutine now binds the next decisions.
func (p *Pipeline) bindOne(ctx context.Context, decision sched.Decision) (detached bool) {
	detach := func() {
		if !detached {
			detached = true
			p.binders.Go(func() { p.bind(ctx) })
		}
	}
	if err := p.tryBind(ctx, decision, detach); err != nil {
		p.undo(decision)
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

// Depth returns the number of lists of nodes, one for each pod, that wait for the committer.
func (p *Pipeline) Depth() int { return len(p.lists) }

// Counters returns the committer's counters.
func (p *Pipeline) Counters() Counters { return p.committer.Counters() }
