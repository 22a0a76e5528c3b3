package node

import (
	"context"
	"errors"
	"io/fs"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// Create returns the CPUs of a container that is about to be created. When it returns,
// the CPUs of an exclusive container are in the checkpoint, and no other container runs
// on them. An error fails the creation; the kubelet retries it.
func (n *Node) Create(ctx context.Context, c workload.Container) (workload.Answer, error) {
	gpus, err := n.visibleGPUs(c)
	if err != nil {
		return workload.Answer{}, n.reportRefusal(ctx, c, err, retried)
	}
	a, err := n.create(ctx, c)
	if !a.Exclusive {
		a.CPUs = n.unstarted(a.CPUs)
	}
	a.GPUs = gpus
	return a, n.reportRefusal(ctx, c, err, retried)
}

func (n *Node) create(ctx context.Context, c workload.Container) (workload.Answer, error) {
	a, err := n.reserveAndDecide(ctx, c)
	if err != nil || !a.Exclusive {
		return a, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return a, n.liftQuotaForGood(ctx, c.Sandbox)
}

// unstarted returns the CPUs for the spec of a shared container: the reserved ones,
// because they are never exclusive. Other shared CPUs may become exclusive between the
// container's creation and its start, while the agent may be down. Start adds the rest
// of the shared set before the container's first instruction. If no CPU is reserved,
// the spec has the current shared set; carve updates such specs, but too late if the
// runtime has already read them.
func (n *Node) unstarted(shared cpuset.Set) cpuset.Set {
	if safe := shared.Intersect(n.cfg.Reserved); !safe.Empty() {
		return safe
	}
	return shared
}

// Start writes the CPUs of a container before its processes run. Its spec has only the
// reserved CPUs, or all CPUs if it was created while the agent was down.
//
// An error is final for a pod that is not restarted, while the kubelet retries a failed
// creation of any pod. So what can fail is done by Create, and Start fails only if the
// container would run on CPUs that are not its own.
func (n *Node) Start(ctx context.Context, c workload.Container) error {
	return n.reportRefusal(ctx, c, n.start(ctx, c), n.afterFailedStart(c))
}

func (n *Node) start(ctx context.Context, c workload.Container) error {
	if _, err := n.reserveAndDecide(ctx, c); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.decide(c)
	bySpec := !c.Resources.CPUs.Empty() && c.Resources.CPUs.SubsetOf(d.CPUs)
	err := n.confine(ctx, c, d, bySpec || !d.Exclusive)
	if err != nil && bySpec && (!d.Exclusive || errors.Is(err, fs.ErrNotExist)) {
		logr.FromContextOrDiscard(ctx).Info("the container starts on the CPUs of its spec", "container", c.String(), "cpus", c.Resources.CPUs.String(), "err", err.Error())
		return nil
	}
	return confineRefusal(c, d, err)
}

// reserveAndDecide reserves the CPUs that the container's pod requests, unless they
// already are, and returns those of the container.
func (n *Node) reserveAndDecide(ctx context.Context, c workload.Container) (a workload.Answer, err error) {
	if err := n.checkPlacer(c.Sandbox); err != nil {
		return a, err
	}
	if err := errors.Join(n.checkGPUs(c), n.checkGroups(c)); err != nil {
		return a, err
	}
	var want *pool.Pod
	if !n.grantKnown(c) {
		if want, err = n.waitForRequest(ctx, c); err != nil {
			return a, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.mu.synced {
		return a, refuse(NotReady, "the agent has not seen this node's containers yet")
	}
	switch {
	case want != nil:
		a.Specs, err = n.carve(ctx, c, *want)
	case n.holds(c):
		a.Specs, err = n.refit(ctx, c)
	}
	if err != nil {
		return a, err
	}
	specs, err := n.fit(ctx, c)
	if err != nil {
		return a, err
	}
	a.Specs = append(a.Specs, specs...)
	a.Decision = n.decide(c)
	n.addContainer(c)
	return a, nil
}

// waitForRequest returns the request of the container. It waits up to Config.PodWait
// for the informer to have the pod.
func (n *Node) waitForRequest(ctx context.Context, c workload.Container) (*pool.Pod, error) {
	waiting, cancel := context.WithTimeout(ctx, n.cfg.PodWait)
	defer cancel()
	want, err := n.request(waiting, c, n.env.Pods.Wait)
	return want, n.rejectIfPermanent(c.Sandbox, err)
}

// holds reports whether the container has a claim. Callers hold the lock.
func (n *Node) holds(c workload.Container) bool {
	_, holds := n.mu.book.claim(c.Sandbox.Pod.UID, c.Name)
	return holds
}

// grantKnown reports whether the book decides on the container: it has a claim, or its
// pod has a grant in which the container is shared.
func (n *Node) grantKnown(c workload.Container) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.holds(c) || n.mu.book.whole(c.Sandbox.Pod.UID)
}

// assert writes the CPUs of a container that may already run. A container without a
// cgroup has ended or has not started; in the latter case Start writes its CPUs. Callers
// hold the lock.
func (n *Node) assert(ctx context.Context, c workload.Container, d workload.Decision) error {
	err := n.confine(ctx, c, d, !d.Exclusive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return confineRefusal(c, d, err)
}

// confine writes the CPUs of a container and persists them. The error for a container
// without a cgroup is fs.ErrNotExist. If systemd does not answer, that is an error unless
// it can have the CPUs later: a shared container needs no protection, and from a spec the
// runtime has given them to systemd already. Callers hold the lock.
func (n *Node) confine(ctx context.Context, c workload.Container, d workload.Decision, later bool) error {
	start := n.env.Now()
	if err := n.env.Cgroups.Confine(ctx, c.Cgroup, d); err != nil {
		return err
	}
	err := n.env.Cgroups.Persist(ctx)
	n.env.Observer.Wrote(Assert, 1, n.env.Now().Sub(start))
	if later {
		n.persistLater(ctx, err)
		return nil
	}
	return err
}

// persistLater logs that Persist failed after a container or a sandbox was confined, and
// that this is no reason to refuse it: the kernel has its CPUs in force, and no exclusive
// container is created before a later Persist has succeeded.
func (n *Node) persistLater(ctx context.Context, err error) {
	if err != nil {
		logr.FromContextOrDiscard(ctx).Info("systemd does not have the CPUs of a container yet; retrying", "err", err.Error())
	}
}

// confineRefusal turns an error of confine into a refusal; nil stays nil.
func confineRefusal(c workload.Container, d workload.Decision, err error) error {
	if err == nil {
		return nil
	}
	return refuse(CgroupFailed, "container %q cannot be put on CPUs %s: %s", c.Name, d.CPUs, err)
}

// liftQuotaForGood removes the CFS quota of a pod's cgroup and persists that. Callers
// hold the lock.
func (n *Node) liftQuotaForGood(ctx context.Context, s workload.Sandbox) error {
	if err := n.liftQuota(ctx, s); err != nil {
		return err
	}
	if err := n.env.Cgroups.Persist(ctx); err != nil {
		return refuse(CgroupFailed, "the CPU quota of the pod's cgroup %s would come back: %s", s.PodCgroup, err)
	}
	return nil
}

// liftOwnQuota removes the CFS quota of an exclusive container that the runtime resized
// without the agent. Callers hold the lock.
func (n *Node) liftOwnQuota(ctx context.Context, c workload.Container) error {
	if c.Resources.QuotaMicros <= 0 || !n.decide(c).Exclusive {
		return nil
	}
	if err := n.env.Cgroups.LiftQuota(ctx, c.Cgroup); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// liftQuota removes the CFS quota of a pod's cgroup. A daemon-reload of systemd restores
// it until the next Persist.
func (n *Node) liftQuota(ctx context.Context, s workload.Sandbox) error {
	err := n.env.Cgroups.LiftQuota(ctx, s.PodCgroup)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refuse(CgroupFailed, "the CPU quota of the pod's cgroup %s cannot be lifted: %s", s.PodCgroup, err)
	}
	return nil
}
