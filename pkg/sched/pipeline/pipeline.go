package pipeline

import (
	"context"
	"sync"

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
	// (nodestate.View.FreedSeq). The queue retries it when that has grown.
	MarkUnschedulable(pod *sched.Pod, freedSeq uint64)
}

// Gate is an optional interface of a Queue that keeps pods in order until they are bound.
type Gate interface {
	// Permit reports whether a pod may be placed now. If not, the queue has taken it
	// back.
	Permit(*sched.Pod) bool
	// Placed records that a pod has a node and is being bound.
	Placed(*sched.Pod)
}

// open is a Gate that permits every pod.
type open struct{}

func (open) Permit(*sched.Pod) bool { return true }
func (open) Placed(*sched.Pod)      {}

// Config is who works how. A first-tier scheduler more than there are pending
// pods gains nothing.
type Config struct {
	Proposers []ProposerOptions // one for each first-tier scheduler
	Filter    sched.Filter      // the committer's own instance; nil for none
	Binders   int               // how many binds are under way at one time, at least 1
	Bind      func(context.Context, sched.Decision) error
	Slow      func(sched.Decision) bool // its Bind may wait long, so it takes no binder's time; nil for none
	Undone    func(sched.Decision)      // a decision was taken back: its node may suit others; nil for nobody
}

// Pipeline is the two tiers at work.
//
//	queue ─► proposer 1…N ─► lists (FIFO of 2N) ─► committer ─► decisions ─► binder 1…M
//	  ▲                                               │                         │
//	  └───────── no node, or all lost ────────────────┴──── could not be bound ─┘
//
// The FIFO is short on purpose: in a deep one lists grow stale, and the faster
// the proposers are the less is placed (volcano-sh/volcano#5939).
type Pipeline struct {
	center    *nodestate.State
	queue     Queue
	gate      Gate
	config    Config
	committer *Committer
	lists     chan sched.List
	decisions *line
}

// New returns a pipeline at rest.
func New(c *nodestate.State, q Queue, config Config) *Pipeline {
	config.Binders = max(1, config.Binders)
	p := &Pipeline{
		center: c, queue: q, gate: open{}, config: config,
		lists:     make(chan sched.List, 2*len(config.Proposers)),
		decisions: newLine(config.Binders),
	}
	if gate, ok := q.(Gate); ok {
		p.gate = gate
	}
	p.committer = NewCommitter(c, config.Filter, Effects{
		Bind: p.pass, Requeue: q.Requeue, MarkUnschedulable: q.MarkUnschedulable,
		Widen: NewProposer(c.View, ProposerOptions{Filter: config.Filter}).Propose,
	})
	return p
}

// Run works until the queue has an error, which it returns once all that was
// under way is bound or undone. It may be called once.
func (p *Pipeline) Run(ctx context.Context) error {
	var err error
	var proposers, binders sync.WaitGroup
	// 1. Every first-tier scheduler takes pods in the queue's order and makes first lists.
	var once sync.Once
	for _, o := range p.config.Proposers {
		proposers.Go(func() {
			e := p.propose(ctx, NewProposer(p.center.View, o))
			once.Do(func() { err = e })
		})
	}
	// 2. The lists wait in line; after the last one the line closes.
	go func() { proposers.Wait(); close(p.lists) }()
	// 3. Binders write decisions down, and have undone what they cannot.
	for range p.config.Binders {
		binders.Go(func() { p.bind(ctx) })
	}
	// 4. The second tier commits list by list, of pods whose turn it is.
	for list := range p.lists {
		if p.gate.Permit(list.Pod) {
			p.committer.Commit(list)
		}
	}
	// 5. The last decisions are bound.
	p.decisions.close()
	binders.Wait()
	return err
}

func (p *Pipeline) propose(ctx context.Context, proposer *Proposer) error {
	for {
		pod, err := p.queue.Next(ctx)
		if err != nil {
			return err
		}
		p.lists <- proposer.Propose(pod)
	}
}

// pass hands a decision to the binders; those behind the pod may go on meanwhile.
func (p *Pipeline) pass(d sched.Decision) {
	p.gate.Placed(d.Pod)
	p.decisions.put(d)
}

// bind writes decisions down one after another, and slow ones beside that: they
// wait for volumes to be made, say, and must not keep others from being bound.
func (p *Pipeline) bind(ctx context.Context) {
	var slow sync.WaitGroup
	defer slow.Wait()
	for {
		d, ok := p.decisions.take()
		if !ok {
			return
		}
		if p.config.Slow != nil && p.config.Slow(d) {
			slow.Go(func() { p.settle(ctx, d) })
			continue
		}
		p.settle(ctx, d)
	}
}

func (p *Pipeline) settle(ctx context.Context, d sched.Decision) {
	if err := p.config.Bind(ctx, d); err != nil {
		p.undo(d)
	}
}

func (p *Pipeline) undo(d sched.Decision) {
	p.committer.Undo(d)
	if p.config.Undone != nil {
		p.config.Undone(d)
	}
}

// Depth returns how many lists wait for the committer.
func (p *Pipeline) Depth() int { return len(p.lists) }

// Counters returns what the committer has done.
func (p *Pipeline) Counters() Counters { return p.committer.Counters() }
