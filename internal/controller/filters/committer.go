package filters

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// Committer has the filters of the second-tier scheduler: those of a Proposer, and Reserve and
// PreBind of the plugins of volumes and devices. It implements sched.Relay and
// pipeline.Reserver. Begin, Resume, Check and Reserve must be called from one goroutine,
// Unreserve and Bind may be called from any.
type Committer struct {
	Proposer
	quotas   Quotas   // nil for none
	still    still    // what has happened since the current pod was checked; empty for most pods
	reserved sync.Map // pod UID → *reserved, between Reserve and the end of Bind
}

// Quotas returns an error if a decision exceeds a quota. The node's record has its GPU types.
type Quotas interface {
	Check(sched.Decision, *sched.Node) error
}

// reserved is a pod with the claims that are reserved for it.
type reserved struct {
	state fwk.CycleState
	pod   *v1.Pod
	by    framework.Framework
}

// NewCommitter returns the filters of the second-tier scheduler. quotas may be nil.
func NewCommitter(ctx context.Context, c *Cluster, api API, quotas Quotas) (*Committer, error) {
	p, err := NewProposer(ctx, c, api)
	if err != nil {
		return nil, err
	}
	return &Committer{Proposer: *p, quotas: quotas}, nil
}

// Begin runs PreFilter for a pod.
func (c *Committer) Begin(pod *sched.Pod) ([]string, sched.Reason) {
	c.still = still{}
	return c.Proposer.Begin(pod)
}

// Resume continues with the results of a Proposer's Begin, which saves PreFilter. The plugins of
// volumes and devices store in these results what they will reserve, and what others have reserved
// since may contradict it, so PreFilter runs again for a pod with claims. For a pod whose
// filters read all nodes, the results may also be those of an earlier Begin for another pod of its
// gang. Resume then uses only their mark. Check refuses the nodes on which the pod may no longer
// fit because of changes since the mark.
func (c *Committer) Resume(pod *sched.Pod, with any) sched.Reason {
	c.still = still{}
	switch own := pod.Foreign.(*Pod); {
	case own.wide:
		return c.resumeWide(pod, with.(*begun).mark)
	case own.claim:
		_, why := c.Proposer.Begin(pod)
		return why
	}
	return c.Proposer.Resume(pod, with)
}

// resumeWide continues with a pod whose filters read all nodes and which was checked at a mark. It
// does not read all nodes again.
func (c *Committer) resumeWide(pod *sched.Pod, mark uint64) sched.Reason {
	c.use(pod)
	still, ok := c.lister.stillFits(pod, mark)
	if !ok {
		return changedSince
	}
	c.still = still
	return c.beginLocal()
}

// changedSince is the reason for a pod that may no longer fit because of later changes.
var changedSince = sched.Reason{Code: sched.Other, Detail: "node(s) had changed since they were checked"}

// Check returns why the current pod does not fit on a node.
func (c *Committer) Check(node *sched.Node) sched.Reason {
	if info := c.lister.at(node); c.still.pod != nil && info != nil && !c.still.on(info.Node()) {
		return changedSince
	}
	return c.Proposer.Check(node)
}

// Reserve reserves a pod's claims. It refuses a pod over a quota. It also refuses a pod that
// must now keep away from a pod placed since its list was made: such a change may make nodes unfit
// whose versions have not changed.
func (c *Committer) Reserve(d sched.Decision, node *sched.Node) sched.Reason {
	if c.quotas != nil {
		if err := c.quotas.Check(d, node); err != nil {
			return sched.Reason{Code: sched.Anywhere, Detail: err.Error()}
		}
	}
	pod := d.Pod.Foreign.(*Pod)
	if why := c.stands(d.Pod, node); why.Refuses() {
		return why
	}
	if pod.claim {
		if why := c.claim(d); why.Refuses() {
			return why
		}
	}
	return sched.Reason{}
}

// stands checks a node again if the anti-affinity of some placed pod excludes the pod from any
// node.
func (c *Committer) stands(pod *sched.Pod, node *sched.Node) sched.Reason {
	c.lister.pod = pod.Foreign.(*Pod)
	if pod.Across {
		return sched.Reason{} // Resume and Check have just been called
	}
	if apart := c.lister.apart(); len(apart) == 0 {
		return sched.Reason{}
	}
	if _, why := c.Begin(pod); why.Refuses() {
		return why
	}
	return c.Check(node)
}

// claim runs the Reserve plugins with the results of Begin and Check.
func (c *Committer) claim(d sched.Decision) sched.Reason {
	r := &reserved{state: c.state, pod: assumed(d), by: c.instanceOf(d.Pod).framework}
	c.reserved.Store(d.Pod.UID, r) // first: after a panic, Unreserve must find it
	if status := r.by.RunReservePluginsReserve(c.ctx, r.state, r.pod, d.At.Node); !status.IsSuccess() {
		c.Unreserve(d)
		return reason(status, sched.Other)
	}
	return sched.Reason{}
}

// Unreserve reverts Reserve.
func (c *Committer) Unreserve(d sched.Decision) {
	if r, ok := c.reserved.LoadAndDelete(d.Pod.UID); ok {
		r := r.(*reserved)
		r.by.RunReservePluginsUnreserve(c.ctx, r.state, r.pod, d.At.Node)
	}
}

// Bind prepares the pod's claims (PreBind), and then calls post to bind the pod. A pod with claims
// may wait a long time until its volumes are provisioned, so its bind is detached first. If Bind
// fails, the caller must call Unreserve.
func (c *Committer) Bind(ctx context.Context, d sched.Decision, detach func(), post func() error) error {
	r, ok := c.reserved.Load(d.Pod.UID)
	if !ok {
		return post()
	}
	detach()
	if err := c.preBind(ctx, r.(*reserved), d); err != nil {
		return err
	}
	if err := post(); err != nil {
		return err
	}
	c.reserved.Delete(d.Pod.UID)
	return nil
}

func (c *Committer) preBind(ctx context.Context, r *reserved, d sched.Decision) error {
	status := r.by.RunPreBindPreFlights(ctx, r.state, r.pod, d.At.Node)
	if status.IsSuccess() {
		status = r.by.RunPreBindPlugins(ctx, r.state, r.pod, d.At.Node)
	}
	if status.IsSuccess() || status.IsSkip() {
		return nil
	}
	return fmt.Errorf("prepare claims of pod %s for node %s: %w", d.Pod, d.At.Node, status.AsError())
}

// assumed returns a copy of the pod with the decided node.
func assumed(d sched.Decision) *v1.Pod {
	pod := *d.Pod.Foreign.(*Pod).info.Pod
	pod.Spec.NodeName = d.At.Node
	return &pod
}
