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

// Committer has the filters of the committer, the second-tier scheduler: those of a Proposer, and
// Reserve and PreBind of the plugins for volumes and devices. It implements sched.Relay and
// pipeline.Reserver. Only one goroutine may call Begin, Resume, Check and Reserve. Any goroutine
// may call Unreserve and Bind.
type Committer struct {
	Proposer
	quotas   Quotas   // nil for none
	still    still    // changes since the current pod was filtered by a proposer; empty for most pods
	reserved sync.Map // *reserved by pod UID, from Reserve until Bind or Unreserve ends
}

// Quotas checks whether a decision exceeds a quota of a tenant or a group. Check returns an error
// if it does. The node's record tells the types of its GPUs.
type Quotas interface {
	Check(sched.Decision, *sched.Node) error
}

// reserved is a pod for which volumes and devices are reserved.
type reserved struct {
	state fwk.CycleState
	pod   *v1.Pod
	by    framework.Framework
}

// NewCommitter returns the filters of the committer. A nil quotas means that there are none.
func NewCommitter(ctx context.Context, c *Cluster, api API, quotas Quotas) (*Committer, error) {
	p, err := NewProposer(ctx, c, api)
	if err != nil {
		return nil, err
	}
	return &Committer{Proposer: *p, quotas: quotas}, nil
}

// Begin runs PreFilter for a pod, and makes it the current pod.
func (c *Committer) Begin(pod *sched.Pod) ([]string, sched.Reason) {
	c.still = still{}
	return c.Proposer.Begin(pod)
}

// Resume continues with the results of Begin from a proposer, so that PreFilter need not run again.
// There are two exceptions.
//
// If the filters of the pod read all nodes, Resume uses only the mark of the results (see changes).
// These may be the results of another pod of its gang. Check then refuses the nodes on which the pod
// may no longer fit because of changes since that mark.
//
// If the pod has volumes or devices, PreFilter runs again. The plugins store in their results what
// they will reserve, and others may have reserved it in the meantime.
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

// resumeWide continues with a pod whose filters read all nodes, and which a proposer filtered at
// the given mark (see changes). Instead of all nodes, it reads only the changes since then.
func (c *Committer) resumeWide(pod *sched.Pod, mark uint64) sched.Reason {
	c.use(pod)
	still, ok := c.lister.stillFits(pod, mark)
	if !ok {
		return changedSince
	}
	c.still = still
	return c.beginLocal()
}

// changedSince is the reason to refuse a node on which the pod may no longer fit because of changes
// since it was filtered.
var changedSince = sched.Reason{Code: sched.Other, Detail: "node(s) had changed since they were checked"}

// Check returns why the current pod does not fit on a node.
func (c *Committer) Check(node *sched.Node) sched.Reason {
	if info := c.lister.at(node); c.still.pod != nil && info != nil && !c.still.on(info.Node()) {
		return changedSince
	}
	return c.Proposer.Check(node)
}

// Reserve reserves a pod's volumes and devices on the decided node. It refuses a pod that exceeds a
// quota. It also checks the node again if the anti-affinity of any placed pod excludes the pod from
// some nodes. A pod with such anti-affinity may have been placed after the proposer listed the
// nodes. It can exclude the pod from all nodes of a zone, although the records of these nodes are
// unchanged.
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

// stands checks a node again if the anti-affinity of any placed pod excludes the current pod from
// some nodes.
func (c *Committer) stands(pod *sched.Pod, node *sched.Node) sched.Reason {
	c.lister.pod = pod.Foreign.(*Pod)
	if pod.Across {
		return sched.Reason{} // Resume and Check have just read all changes
	}
	if apart := c.lister.apart(); len(apart) == 0 {
		return sched.Reason{}
	}
	if _, why := c.Begin(pod); why.Refuses() {
		return why
	}
	return c.Check(node)
}

// claim runs the Reserve plugins with the results of PreFilter and Filter.
func (c *Committer) claim(d sched.Decision) sched.Reason {
	r := &reserved{state: c.state, pod: assumed(d), by: c.instanceOf(d.Pod).framework}
	c.reserved.Store(d.Pod.UID, r) // stored first, so that Unreserve finds it if a plugin panics
	if status := r.by.RunReservePluginsReserve(c.ctx, r.state, r.pod, d.At.Node); !status.IsSuccess() {
		c.Unreserve(d)
		return reason(status, sched.Other)
	}
	return sched.Reason{}
}

// Unreserve releases what Reserve has reserved for a pod.
func (c *Committer) Unreserve(d sched.Decision) {
	if r, ok := c.reserved.LoadAndDelete(d.Pod.UID); ok {
		r := r.(*reserved)
		r.by.RunReservePluginsUnreserve(c.ctx, r.state, r.pod, d.At.Node)
	}
}

// Bind runs PreBind, which prepares the pod's volumes and devices, and then calls post to bind the
// pod. PreBind may wait long until a volume is provisioned, so Bind first calls detach: the binder
// then need not wait for this pod. If Bind fails, the caller must call Unreserve.
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

// assumed returns a copy of the pod whose spec names the decided node.
func assumed(d sched.Decision) *v1.Pod {
	pod := *d.Pod.Foreign.(*Pod).info.Pod
	pod.Spec.NodeName = d.At.Node
	return &pod
}
