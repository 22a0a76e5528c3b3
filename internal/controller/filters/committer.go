package filters

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/numalet/numalet/pkg/sched"
)

// Committer is the filters of the second-tier scheduler, a sched.Relay and a
// pipeline.Reserver: all that a Proposer has, and those of volumes and devices
// with Reserve and PreBind. Begin, Resume, Check and Reserve serve one
// goroutine, Unreserve and Bind any.
type Committer struct {
	Proposer           // all filters
	first    *Proposer // those of the first tier, which has judged pods without claims in full
	quotas   Quotas    // nil for none
	resumed  bool      // the pod in hand is first's
	reserved sync.Map  // pod UID → *reserved, between Reserve and the end of Bind
}

// Quotas say which quota a decision would go over, by the node's record, or nothing.
type Quotas interface {
	Check(sched.Decision, *sched.Node) error
}

// reserved is a pod with claims that are set aside for it.
type reserved struct {
	state fwk.CycleState
	pod   *v1.Pod
}

// NewCommitter returns the filters of the second-tier scheduler.
//
// quotas refuse what is over them; nil for none.
func NewCommitter(ctx context.Context, c *Cluster, api API, quotas Quotas) (*Committer, error) {
	all, err := NewExplainer(ctx, c, api)
	if err != nil {
		return nil, err
	}
	first, err := NewProposer(ctx, c, api)
	if err != nil {
		return nil, err
	}
	return &Committer{Proposer: *all, first: first, quotas: quotas}, nil
}

// Begin turns to a pod, with all filters.
func (c *Committer) Begin(pod *sched.Pod) ([]string, sched.Reason) {
	c.resumed = false
	return c.Proposer.Begin(pod)
}

// Resume turns to a pod with which a Proposer has begun, and which has no claims
// (sched.Pod.Across): that saves PreFilter.
func (c *Committer) Resume(pod *sched.Pod, with any) sched.Reason {
	c.resumed = true
	return c.first.Resume(pod, with)
}

// Check says why a node does not suit that pod.
func (c *Committer) Check(node *sched.Node) sched.Reason {
	if c.resumed {
		return c.first.Check(node)
	}
	return c.Proposer.Check(node)
}

// Reserve sets a pod's claims aside. It refuses what is over a quota, and a pod that a placed pod has come to
// keep apart from since its first list was made: the node's version does not tell.
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

// stands judges a node once more for a pod that others keep apart from.
func (c *Committer) stands(pod *sched.Pod, node *sched.Node) sched.Reason {
	c.lister.pod = pod.Foreign.(*Pod)
	if pod.Across {
		return sched.Reason{} // Begin and Check have just been asked
	}
	if apart := c.lister.apart(); len(apart) == 0 {
		return sched.Reason{}
	}
	if _, why := c.Begin(pod); why.Refuses() {
		return why
	}
	return c.Check(node)
}

// claim runs the Reserve plugins with what Begin and Check found out.
func (c *Committer) claim(d sched.Decision) sched.Reason {
	r := &reserved{state: c.state, pod: assumed(d)}
	if status := c.framework.RunReservePluginsReserve(c.ctx, r.state, r.pod, d.At.Node); !status.IsSuccess() {
		c.framework.RunReservePluginsUnreserve(c.ctx, r.state, r.pod, d.At.Node)
		return reason(status, sched.Other)
	}
	c.reserved.Store(d.Pod.UID, r)
	return sched.Reason{}
}

// Unreserve takes back what Reserve did.
func (c *Committer) Unreserve(d sched.Decision) {
	if r, ok := c.reserved.LoadAndDelete(d.Pod.UID); ok {
		r := r.(*reserved)
		c.framework.RunReservePluginsUnreserve(c.ctx, r.state, r.pod, d.At.Node)
	}
}

// Waits reports whether Bind has claims to prepare first, which may take long.
func (c *Committer) Waits(d sched.Decision) bool {
	_, ok := c.reserved.Load(d.Pod.UID)
	return ok
}

// Bind gives a pod the claims that were set aside, and then has it bound by
// post. It may wait long, for volumes to be made. Where it fails, Unreserve has
// to follow.
func (c *Committer) Bind(ctx context.Context, d sched.Decision, post func() error) error {
	r, ok := c.reserved.Load(d.Pod.UID)
	if !ok {
		return post()
	}
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
	status := c.framework.RunPreBindPreFlights(ctx, r.state, r.pod, d.At.Node)
	if status.IsSuccess() {
		status = c.framework.RunPreBindPlugins(ctx, r.state, r.pod, d.At.Node)
	}
	if status.IsSuccess() || status.IsSkip() {
		return nil
	}
	return fmt.Errorf("prepare claims of pod %s for node %s: %w", d.Pod, d.At.Node, status.AsError())
}

// assumed returns the pod as if it were bound already.
func assumed(d sched.Decision) *v1.Pod {
	pod := *d.Pod.Foreign.(*Pod).info.Pod
	pod.Spec.NodeName = d.At.Node
	return &pod
}
