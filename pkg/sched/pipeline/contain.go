package pipeline

import "github.com/numalet/numalet/pkg/sched"

// One pod most likely causes a panic in a proposer or in the committer. It would cause the panic
// again in the next process, and all pods would wait until somebody finds that pod. So the panic is
// recovered, the pod backs off, and the scheduler continues with the other pods. The placements of
// the attempt are undone. Everything else stays valid: locks are released by defer, and the filters
// start again from the beginning for each pod.

// list makes the first list of a pod. It returns false if that panicked.
func (p *Pipeline) list(proposer *Proposer, pod *sched.Pod) (list sched.List, ok bool) {
	defer p.contain(pod, func() {})
	return proposer.Propose(pod), true
}

// commit commits a list. It returns false if the pod was not placed.
func (p *Pipeline) commit(list sched.List) bool {
	defer p.contain(list.Pod, p.committer.abandon)
	return p.committer.Commit(list)
}

// contain recovers a panic that a pod has caused, and returns the pod to the queue after
// undoing what the attempt did. It must be deferred.
func (p *Pipeline) contain(pod *sched.Pod, undo func()) {
	if p.config.Panicked == nil {
		return
	}
	cause := recover()
	if cause == nil {
		return
	}
	p.config.Panicked(pod, cause)
	undo()
	p.gate.Undone(pod)
}

// abandon undoes what the committer has placed or reserved since the last decision that it
// passed to a binder.
func (c *Committer) abandon() {
	c.reserver.Unreserve(c.reserving)
	c.retract(c.open)
	c.open = c.open[:0]
}
