package pipeline

import (
	"context"
	"sync"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/commit"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/propose"
)

// Queue has the pending pods. Its methods may be called from any goroutine.
type Queue interface {
	// Next waits for the pod whose turn it is. Its error ends the cycle.
	Next(context.Context) (*sched.Pod, error)
	// Requeue takes back a pod that is to be tried again.
	Requeue(*sched.Pod)
	// Park takes back a pod that no node suited when so much had been given back
	// (center.View.Gains). It is to be tried again when that has grown.
	Park(pod *sched.Pod, gains uint64)
}

// Gate is what a Queue may be besides: pods are placed in its order.
type Gate interface {
	// Permit reports whether a pod may be placed now. Where it may not, the queue has
	// taken it back.
	Permit(*sched.Pod) bool
	// Placed says that a pod has its place, and is being bound.
	Placed(*sched.Pod)
}

// open is a gate that lets everybody pass.
type open struct{}

func (open) Permit(*sched.Pod) bool { return true }
func (open) Placed(*sched.Pod)      {}

// Config is who works how. A first-tier scheduler more than there are pending
// pods gains nothing.
type Config struct {
	Proposers []propose.Options // one for each first-tier scheduler
	Filter    sched.Filter      // the committer's own instance; nil for none
	Binders   int               // how many binds are under way at one time, at least 1
	Bind      func(context.Context, sched.Decision) error
	Slow      func(sched.Decision) bool // its Bind may wait long, so it takes no binder's time; nil for none
	Undone    func(sched.Decision)      // a decision was taken back: its node may suit others; nil for nobody
}

// Cycle is the two tiers at work.
//
//	queue ─► proposer 1…N ─► lists (FIFO of 2N) ─► committer ─► decisions ─► binder 1…M
//	  ▲                                               │                         │
//	  └───────── no node, or all lost ────────────────┴──── could not be bound ─┘
//
// The FIFO is short on purpose: in a deep one lists grow stale, and the faster
// the proposers are the less is placed (volcano-sh/volcano#5939).
type Cycle struct {
	center    *nodestate.Center
	queue     Queue
	gate      Gate
	config    Config
	committer *commit.Committer
	lists     chan sched.List
	decisions *line
}

// New returns a cycle at rest.
func New(c *nodestate.Center, q Queue, config Config) *Cycle {
	config.Binders = max(1, config.Binders)
	cycle := &Cycle{
		center: c, queue: q, gate: open{}, config: config,
		lists:     make(chan sched.List, 2*len(config.Proposers)),
		decisions: newLine(config.Binders),
	}
	if gate, ok := q.(Gate); ok {
		cycle.gate = gate
	}
	cycle.committer = commit.New(c, config.Filter, commit.Env{
		Bind: cycle.pass, Requeue: q.Requeue, Park: q.Park,
		Widen: propose.New(c.View, propose.Options{Filter: config.Filter}).Propose,
	})
	return cycle
}

// Run works until the queue has an error, which it returns once all that was
// under way is bound or undone. It may be called once.
func (c *Cycle) Run(ctx context.Context) error {
	var err error
	var proposers, binders sync.WaitGroup
	// 1. Every first-tier scheduler takes pods in the queue's order and makes first lists.
	var once sync.Once
	for _, o := range c.config.Proposers {
		proposers.Go(func() {
			e := c.propose(ctx, propose.New(c.center.View, o))
			once.Do(func() { err = e })
		})
	}
	// 2. The lists wait in line; after the last one the line closes.
	go func() { proposers.Wait(); close(c.lists) }()
	// 3. Binders write decisions down, and have undone what they cannot.
	for range c.config.Binders {
		binders.Go(func() { c.bind(ctx) })
	}
	// 4. The second tier commits list by list, of pods whose turn it is.
	for list := range c.lists {
		if c.gate.Permit(list.Pod) {
			c.committer.Commit(list)
		}
	}
	// 5. The last decisions are bound.
	c.decisions.close()
	binders.Wait()
	return err
}

func (c *Cycle) propose(ctx context.Context, p *propose.Proposer) error {
	for {
		pod, err := c.queue.Next(ctx)
		if err != nil {
			return err
		}
		c.lists <- p.Propose(pod)
	}
}

// pass hands a decision to the binders; those behind the pod may go on meanwhile.
func (c *Cycle) pass(d sched.Decision) {
	c.gate.Placed(d.Pod)
	c.decisions.put(d)
}

// bind writes decisions down one after another, and slow ones beside that: they
// wait for volumes to be made, say, and must not keep others from being bound.
func (c *Cycle) bind(ctx context.Context) {
	var slow sync.WaitGroup
	defer slow.Wait()
	for {
		d, ok := c.decisions.take()
		if !ok {
			return
		}
		if c.config.Slow != nil && c.config.Slow(d) {
			slow.Go(func() { c.settle(ctx, d) })
			continue
		}
		c.settle(ctx, d)
	}
}

func (c *Cycle) settle(ctx context.Context, d sched.Decision) {
	if err := c.config.Bind(ctx, d); err != nil {
		c.undo(d)
	}
}

func (c *Cycle) undo(d sched.Decision) {
	c.committer.Undo(d)
	if c.config.Undone != nil {
		c.config.Undone(d)
	}
}

// Depth returns how many lists wait for the committer.
func (c *Cycle) Depth() int { return len(c.lists) }

// Counters returns what the committer has done.
func (c *Cycle) Counters() commit.Counters { return c.committer.Counters() }
