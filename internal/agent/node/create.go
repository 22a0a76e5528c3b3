package node

import (
	"context"
	"errors"
	"io/fs"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// Create answers where a container that is about to be created belongs. What
// an exclusive container holds is, when Create returns, remembered across
// crashes and free of everybody else. An error fails the creation, which the
// kubelet tries again.
func (n *Node) Create(ctx context.Context, c workload.Container) (workload.Answer, error) {
	gpus, err := visibleGPUs(c)
	if err != nil {
		return workload.Answer{}, n.tell(ctx, c, err)
	}
	a, err := n.place(ctx, c)
	if !a.Exclusive {
		a.CPUs = n.unstarted(a.CPUs)
	}
	a.GPUs = gpus
	return a, n.tell(ctx, c, err)
}

// unstarted returns the CPUs in the spec of a container that is to share: the
// reserved ones, which are never exclusive. What is shared may become exclusive
// between its creation and its start, and the agent may die in between. Start
// gives it all that is shared before its first instruction. With nothing
// reserved it is what is shared now, and carve has specs corrected, which the
// runtime may have read by then.
func (n *Node) unstarted(shared cpuset.Set) cpuset.Set {
	if safe := shared.Intersect(n.cfg.Reserved); !safe.Empty() {
		return safe
	}
	return shared
}

// Start puts a container whose processes do not run yet where it belongs now:
// it was created on few CPUs, or while no agent was there.
func (n *Node) Start(ctx context.Context, c workload.Container) error {
	return n.tell(ctx, c, n.start(ctx, c))
}

func (n *Node) start(ctx context.Context, c workload.Container) error {
	if _, err := n.place(ctx, c); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.decide(c)
	err := n.put(ctx, c, d)
	if errors.Is(err, fs.ErrNotExist) && !c.Resources.CPUs.Empty() && c.Resources.CPUs.SubsetOf(d.CPUs) {
		return nil // its spec keeps it there
	}
	return misplaced(c, d, err)
}

// place reserves what the container's pod asks for, once, and decides.
func (n *Node) place(ctx context.Context, c workload.Container) (a workload.Answer, err error) {
	if err := n.distrust(c.Sandbox); err != nil {
		return a, err
	}
	if err := n.checkGPUs(c); err != nil {
		return a, err
	}
	var want *pool.Pod
	if !n.knows(c) {
		if want, err = n.ask(ctx, c); err != nil {
			return a, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.mu.synced {
		return a, refuse(NotReady, "the agent has not seen this node's containers yet; the kubelet will try again")
	}
	switch {
	case want != nil:
		a.Specs, err = n.carve(ctx, c, *want)
	case n.decide(c).Exclusive:
		err = n.settleQuota(ctx, c.Sandbox)
	}
	if err != nil {
		return a, err
	}
	a.Decision = n.decide(c)
	n.remember(c)
	return a, nil
}

// ask finds out what the container wants, waiting a moment for news of its pod.
func (n *Node) ask(ctx context.Context, c workload.Container) (*pool.Pod, error) {
	waiting, cancel := context.WithTimeout(ctx, n.cfg.PodWait)
	defer cancel()
	want, err := n.wants(waiting, c, n.env.Pods.Wait)
	return want, n.rejectForGood(c.Sandbox, err)
}

// knows reports whether it is known what the container holds, if anything.
func (n *Node) knows(c workload.Container) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	uid := c.Sandbox.Pod.UID
	_, holds := n.mu.book.claim(uid, c.Name)
	return holds || n.mu.book.whole(uid)
}

// assert writes again where a container belongs that was started before. One
// without cgroup has not come that far, and Start will see to it, or has ended.
// Callers hold the lock.
func (n *Node) assert(ctx context.Context, c workload.Container, d workload.Decision) error {
	err := n.put(ctx, c, d)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return misplaced(c, d, err)
}

// put writes where a container belongs, for good. The error is fs.ErrNotExist
// of a container without cgroup. Callers hold the lock.
func (n *Node) put(ctx context.Context, c workload.Container, d workload.Decision) error {
	start := n.env.Now()
	if err := n.env.Cgroups.Confine(ctx, c.Cgroup, d.CPUs, d.Mems); err != nil {
		return err
	}
	err := n.env.Cgroups.Persist(ctx)
	n.env.Observer.Wrote(Assert, 1, n.env.Now().Sub(start))
	return err
}

// misplaced is the refusal of a container that put failed to write; nil stays nil.
func misplaced(c workload.Container, d workload.Decision, err error) error {
	if err == nil {
		return nil
	}
	return refuse(CgroupFailed, "container %q cannot be put on CPUs %s: %s; the kubelet will try again", c.Name, d.CPUs, err)
}

// settleQuota lifts the quota of a pod's cgroup for good. Callers hold the lock.
func (n *Node) settleQuota(ctx context.Context, s workload.Sandbox) error {
	if err := n.liftQuota(ctx, s); err != nil {
		return err
	}
	if err := n.env.Cgroups.Persist(ctx); err != nil {
		return refuse(CgroupFailed, "the CPU quota of the pod's cgroup %s would come back: %s; the kubelet will try again", s.PodCgroup, err)
	}
	return nil
}

// liftQuota lifts the quota of a pod's cgroup until the next Persist makes it last.
func (n *Node) liftQuota(ctx context.Context, s workload.Sandbox) error {
	err := n.env.Cgroups.LiftQuota(ctx, s.PodCgroup)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refuse(CgroupFailed, "the CPU quota of the pod's cgroup %s cannot be lifted: %s; the kubelet will try again", s.PodCgroup, err)
	}
	return nil
}
