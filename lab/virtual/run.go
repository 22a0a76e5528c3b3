package virtual

import (
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/nodestate"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// Model is the number of proposers and the duration of each step.
type Model struct {
	Proposers int
	Propose   time.Duration // the time that a proposer takes to list the best nodes for one pod
	Commit    time.Duration // the time that the committer takes to assign one node of a list
}

// Placed is a placed pod and the time when it was placed.
type Placed struct {
	sched.Decision
	At time.Duration // since the start
}

// Result is the result of Run.
type Result struct {
	Placed   []Placed // in the order in which they were committed
	Unplaced []*sched.Pod
}

// End returns the time from the start until the last pod was placed.
func (r Result) End() time.Duration {
	if len(r.Placed) == 0 {
		return 0
	}
	return r.Placed[len(r.Placed)-1].At
}

// Run starts with all pods pending, in the given order, and runs until each is placed or fits no
// node. A proposer reads the state of the nodes when it starts with a pod. At the end of its step,
// the proposer appends its list of nodes to the FIFO of the committer. If the FIFO has 2·Proposers
// lists or more, the proposer first waits with its list. A commit takes effect at the end of the
// committer's step.
func Run(state *nodestate.State, pods []*sched.Pod, m Model) Result {
	w := &world{model: m, pending: pods, idle: m.Proposers}
	w.proposer = pipeline.NewProposer(state.View, pipeline.ProposerOptions{})
	w.committer = pipeline.NewCommitter(state, nil, pipeline.Effects{
		Bind: func(decision sched.Decision) {
			w.result.Placed = append(w.result.Placed, Placed{decision, w.clock.now})
		},
		Requeue:           func(pod *sched.Pod, _ sched.Reason) { w.pending = append(w.pending, pod) },
		MarkUnschedulable: func(pod *sched.Pod, _ uint64) { w.result.Unplaced = append(w.result.Unplaced, pod) },
	})
	w.work()
	for w.clock.step() {
		w.work()
	}
	return w.result
}

// world is the state of one call of Run.
type world struct {
	model     Model
	proposer  *pipeline.Proposer // one for all simulated proposers: it has no state of its own, except where the policy NextFit continues its search
	committer *pipeline.Committer
	clock     clock

	pending []*sched.Pod
	idle    int          // number of proposers without a pod
	done    []sched.List // lists whose proposers wait for space in the FIFO
	fifo    []sched.List
	busy    bool // whether the committer is busy
	result  Result
}

// work starts every step of a proposer or of the committer that can start now.
func (w *world) work() {
	for w.idle > 0 && len(w.pending) > 0 {
		w.startProposer()
	}
	for len(w.done) > 0 && len(w.fifo) < 2*w.model.Proposers {
		w.fifo, w.done = append(w.fifo, w.done[0]), w.done[1:]
		w.idle++
	}
	if !w.busy && len(w.fifo) > 0 {
		w.startCommitter()
	}
}

func (w *world) startProposer() {
	pod := w.pending[0]
	w.pending = w.pending[1:]
	w.idle--
	list := w.proposer.Propose(pod)
	w.clock.after(w.model.Propose, func() { w.done = append(w.done, list) })
}

func (w *world) startCommitter() {
	list := w.fifo[0]
	w.fifo, w.busy = w.fifo[1:], true
	w.clock.after(w.model.Commit, func() {
		w.committer.Commit(list)
		w.busy = false
	})
}
