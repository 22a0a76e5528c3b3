package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// carve moves the CPUs of a pod out of the shared set:
//
//  1. reserve them in the ledger, all or nothing
//  2. write the checkpoint
//  3. lift the CFS quota of the pod's cgroup, which step 4 persists
//  4. shrink all shared containers, and move interrupts away if the pod asks for that
//
// If a step fails, the pod holds nothing, so that no shared container overlaps with
// it. Only its quota stays lifted, for the kubelet's next attempt. carve returns the new specs of
// containers that have not started. Callers hold the lock.
func (n *Node) carve(ctx context.Context, c workload.Container, p pool.Pod) ([]workload.Spec, error) {
	undo, err := n.reserveOrReject(ctx, c, p)
	if err != nil {
		return nil, err
	}
	specs, err := n.commit(ctx, c.Sandbox, undo)
	if err != nil {
		return nil, err
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("carved", "container", c.String(), "cpus", n.decide(c).CPUs.String(), "shared", n.shared().String())
	return specs, nil
}

// commit is steps 2 to 4 of carve, for a change of the ledger that undo reverts. Callers
// hold the lock.
func (n *Node) commit(ctx context.Context, s workload.Sandbox, undo func()) ([]workload.Spec, error) {
	if err := n.save(); err != nil {
		undo()
		return nil, refuse(CheckpointFailed, "cannot write the checkpoint: %s; free disk space or repair the file system", err)
	}
	specs, err := n.clear(ctx, s)
	if err != nil {
		undo()
		n.finishRelease(context.WithoutCancel(ctx))
	}
	return specs, err
}

// clear removes all other containers from the CPUs that were granted to the sandbox's
// pod. Callers hold the lock.
func (n *Node) clear(ctx context.Context, s workload.Sandbox) ([]workload.Spec, error) {
	if err := n.liftQuota(ctx, s); err != nil {
		return nil, err
	}
	specs, err := n.confineSharers(ctx, Shrink)
	if err != nil {
		return nil, refuse(CgroupFailed, "cannot move shared containers off the CPUs for the pod: %s", err)
	}
	// If moving interrupts fails, only a pod that asks for isolation fails. Other pods start
	// anyway.
	if err := n.isolate(ctx); err != nil {
		if isolates(s) {
			return nil, err
		}
		logr.FromContextOrDiscard(ctx).Error(err, "interrupts may reach isolated CPUs of other pods; retrying")
	}
	return specs, nil
}

// reserve grants the request of the container's pod, or only that of the container if
// the pod has grants per container. Callers hold the lock.
func (n *Node) reserve(c workload.Container, p pool.Pod) (undo func(), err error) {
	s := c.Sandbox
	if p.UID == s.Pod.UID && n.mu.book.byContainer(p.UID) {
		p = onlyContainer(p, c.Name)
	}
	return n.mu.book.reserve(Held{Pod: s.Pod, Cgroup: s.PodCgroup, Static: isStatic(s), Isolated: isolates(s)}, p)
}

// finishRelease writes the checkpoint and adds the released CPUs to all shared
// containers. A failure causes no overlap, so it is only logged. Callers hold the
// lock.
func (n *Node) finishRelease(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	if err := n.save(); err != nil {
		log.Error(err, "cannot write the checkpoint after a release; the release is repeated after a restart")
	}
	if _, err := n.confineSharers(ctx, Grow); err != nil {
		log.Error(err, "cannot add the released CPUs to some shared containers; they get them at the next write")
	}
	if err := n.isolate(ctx); err != nil {
		log.Error(err, "cannot put interrupts back to the released CPUs; retrying")
	}
}

// confineSharers writes the shared set to every sandbox and every container without a
// grant, and continues after a failure. It returns the specs of those without a
// cgroup, which have not started or have ended. Callers hold the lock.
func (n *Node) confineSharers(ctx context.Context, why Why) (absent []workload.Spec, err error) {
	shared, start := n.shared(), n.env.Now()
	written := 0
	var errs []error
	for _, s := range n.sharers() {
		err := n.env.Cgroups.Confine(ctx, s.cgroup, workload.Decision{CPUs: shared})
		switch {
		case err == nil:
			written++
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("confine %s to CPUs %s: %w", s.name, shared, err))
		case s.containerID != "":
			absent = append(absent, workload.Spec{ContainerID: s.containerID, CPUs: n.unstarted(shared)})
		}
	}
	errs = append(errs, n.env.Cgroups.Persist(ctx))
	n.env.Observer.Wrote(why, written, n.env.Now().Sub(start))
	return absent, errors.Join(errs...)
}

// sharer is a cgroup without a grant.
type sharer struct{ name, cgroup, containerID string }

func (n *Node) sharers() []sharer {
	var all []sharer
	for _, p := range n.mu.pods {
		for _, s := range p.sandboxes {
			if s.Cgroup != "" {
				all = append(all, sharer{name: "the sandbox of pod " + p.ref.String(), cgroup: s.Cgroup})
			}
		}
		for _, c := range p.containers {
			if !n.decide(c).Exclusive {
				all = append(all, sharer{"container " + c.String(), c.Cgroup, c.ID})
			}
		}
	}
	return all
}
