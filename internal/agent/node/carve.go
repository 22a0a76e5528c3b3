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

// carve takes what a pod wants out of the shared set:
//
//  1. reserve it in the ledger, all or nothing
//  2. make that durable
//  3. lift the quota of its cgroup, which step 4 settles along with the rest
//  4. shrink everybody who shares
//
// When a step fails, the pod holds nothing: a container that cannot be moved
// away must never overlap. Only its quota stays lifted, for the kubelet's next
// try. It returns the specs that name CPUs of the past now. Callers hold the lock.
func (n *Node) carve(ctx context.Context, c workload.Container, p pool.Pod) ([]workload.Spec, error) {
	undo, err := n.reserveOrReject(ctx, c, p)
	if err != nil {
		return nil, err
	}
	if err := n.save(); err != nil {
		undo()
		return nil, refuse(CheckpointFailed, "the node cannot remember what it would grant: %s; make room or repair the disk of the checkpoint", err)
	}
	specs, err := n.clear(ctx, c.Sandbox)
	if err != nil {
		undo()
		n.settleAfterRelease(context.WithoutCancel(ctx))
		return nil, err
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("carved", "container", c.String(), "cpus", n.decide(c).CPUs.String(), "shared", n.shared().String())
	return specs, nil
}

// clear makes what the ledger has just granted to the sandbox's pod true for
// everybody else. Callers hold the lock.
func (n *Node) clear(ctx context.Context, s workload.Sandbox) ([]workload.Spec, error) {
	if err := n.liftQuota(ctx, s); err != nil {
		return nil, err
	}
	specs, err := n.confineSharers(ctx, Shrink)
	if err != nil {
		return nil, refuse(CgroupFailed, "CPUs for the pod cannot be freed: %s; the kubelet will try again", err)
	}
	return specs, nil
}

// reserve grants the container's pod what it wants, or only the container
// where the pod is held container by container. Callers hold the lock.
func (n *Node) reserve(c workload.Container, p pool.Pod) (undo func(), err error) {
	s := c.Sandbox
	if p.UID == s.Pod.UID && n.mu.book.byContainer(p.UID) {
		p = onlyContainer(p, c.Name)
	}
	return n.mu.book.reserve(Held{Pod: s.Pod, Cgroup: s.PodCgroup, Static: isStatic(s)}, p)
}

// settleAfterRelease makes a release durable and gives the CPUs to everybody
// who shares. Nobody overlaps when either fails, so failures are only logged.
// Callers hold the lock.
func (n *Node) settleAfterRelease(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	if err := n.save(); err != nil {
		log.Error(err, "a release is not remembered; it will be found out again after a restart")
	}
	if _, err := n.confineSharers(ctx, Grow); err != nil {
		log.Error(err, "some containers do not get released CPUs until they are written next")
	}
}

// confineSharers writes the shared set to every sandbox and every container
// that holds nothing, and goes on after a failure. It returns what the specs of
// those have to say that have no cgroup: not started yet, or ended. Callers
// hold the lock.
func (n *Node) confineSharers(ctx context.Context, why Why) (absent []workload.Spec, err error) {
	shared, start := n.shared(), n.env.Now()
	written := 0
	var errs []error
	for _, s := range n.sharers() {
		err := n.env.Cgroups.Confine(ctx, s.cgroup, shared, nil)
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

// sharer is a cgroup that holds nothing.
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
			if _, holds := n.mu.book.claim(p.ref.UID, c.Name); !holds {
				all = append(all, sharer{"container " + c.String(), c.Cgroup, c.ID})
			}
		}
	}
	return all
}
