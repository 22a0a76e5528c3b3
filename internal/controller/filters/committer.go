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

// Committer has the filters of the committer, which is the goroutine that decides the nodes of
// pods. Committer has the same filters as a Proposer, and also Reserve and PreBind of the plugins
// for volumes and devices. It implements the interfaces sched.Relay and pipeline.Reserver. Any
// goroutine may call Unreserve and Bind. Only one goroutine may call the other methods.
type Committer struct {
	Proposer
	quotas   Quotas   // nil for none
	still    still    // nodes on which the current pod may no longer fit, because of changes since a proposer filtered it; empty for most pods
	reserved sync.Map // values of type *reserved, by pod UID; a value is stored by Reserve, and removed when Bind succeeds or Unreserve is called
}

// Quotas checks whether a scheduling decision exceeds a quota of the pod's tenant. Check returns an
// error if a quota is exceeded. The second argument of Check is the record of the decided node.
// Check reads the types of the node's GPUs from it.
type Quotas interface {
	Check(sched.Decision, *sched.Node) error
}

// reserved is a pod for which volumes and devices are reserved.
type reserved struct {
	state fwk.CycleState
	pod   *v1.Pod
	by    framework.Framework
}

// NewCommitter returns the filters of the committer. If the parameter `quotas` is nil, no quotas
// are checked.
func NewCommitter(ctx context.Context, c *Cluster, api API, quotas Quotas) (*Committer, error) {
	p, err := NewProposer(ctx, c, api)
	if err != nil {
		return nil, err
	}
	return &Committer{Proposer: *p, quotas: quotas}, nil
}

// Begin does the same as Begin of a Proposer: it makes a pod the current pod, and prepares the
// filters for it.
func (c *Committer) Begin(pod *sched.Pod) ([]string, sched.Reason) {
	c.still = still{}
	return c.Proposer.Begin(pod)
}

// Resume makes a pod the current pod. It uses the results that a proposer's Begin has computed for
// the pod, so that PreFilter need not run again. There are two exceptions.
//
// First, if the pod has required pod (anti-)affinity or topology spread, Resume uses only the mark
// in the proposer's results. The mark is the number of the first change (see the type `changes`)
// that was stored after the proposer had begun to filter the pod. A pod that reuses the counts of
// an earlier pod of its gang has that pod's mark. Check then refuses the nodes on which the pod may
// no longer fit because of the changes since the mark.
//
// Second, if the pod has volumes or devices, PreFilter runs again. The plugins store in the results
// of PreFilter which volumes and devices they will reserve, and these may have been reserved for
// another pod in the meantime.
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

// resumeWide makes the given pod the current pod. This pod has required pod (anti-)affinity or
// topology spread. So a proposer has counted the pods on many nodes for it. The parameter `mark` is
// the number of the first change (see the type `changes`) that was stored after the proposer had
// begun to count. resumeWide reads only the changes since then, and does not count the pods again.
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
// since a proposer filtered the pod.
var changedSince = sched.Reason{Code: sched.Other, Detail: "node(s) had changed since they were checked"}

// Check returns the reason why the current pod does not fit on a node. The reason is empty if the
// pod fits.
func (c *Committer) Check(node *sched.Node) sched.Reason {
	if info := c.lister.at(node); c.still.pod != nil && info != nil && !c.still.on(info.Node()) {
		return changedSince
	}
	return c.Proposer.Check(node)
}

// Reserve reserves a pod's volumes and devices on the decided node. It returns a reason if the
// decision exceeds a quota, if the node no longer suits the pod because of other pods (see the
// method `stands`), or if the reservation fails.
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

// stands checks the decided node again if the anti-affinity of any placed pod excludes the pod from
// some nodes. The placed pod may be one that was placed after the proposer had checked the node.
// Its anti-affinity can exclude the pod from all nodes of a zone, although the records of these
// nodes are unchanged.
func (c *Committer) stands(pod *sched.Pod, node *sched.Node) sched.Reason {
	c.lister.pod = pod.Foreign.(*Pod)
	if pod.Across {
		return sched.Reason{} // if Across is true, the committer has just checked the node again, so another check is not needed
	}
	if apart := c.lister.apart(); len(apart) == 0 {
		return sched.Reason{}
	}
	if _, why := c.Begin(pod); why.Refuses() {
		return why
	}
	return c.Check(node)
}

// claim reserves the volumes and devices of a pod on the decided node. It runs the Reserve plugins
// with the results of PreFilter and Filter.
func (c *Committer) claim(d sched.Decision) sched.Reason {
	r := &reserved{state: c.state, pod: assumed(d), by: c.instanceOf(d.Pod).framework}
	c.reserved.Store(d.Pod.UID, r) // stored first, so that Unreserve finds r if a plugin panics
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

// Bind runs PreBind, which prepares the pod's volumes and devices, and then calls the function
// given as `post`, which binds the pod. PreBind may wait long until a volume is provisioned. So
// before PreBind, Bind calls the function given as `detach`. Another goroutine then binds the next
// pods. If nothing is reserved for the pod, Bind only calls `post`. If Bind fails, the caller must
// call Unreserve.
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

// assumed returns a copy of the pod of a decision. The spec of the copy names the decided node.
func assumed(d sched.Decision) *v1.Pod {
	pod := *d.Pod.Foreign.(*Pod).info.Pod
	pod.Spec.NodeName = d.At.Node
	return &pod
}
