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
//  3. shrink everybody who shares
//
// When a step fails, those before it are undone and the pod holds nothing: a
// container that cannot be moved away must never overlap. Callers hold the lock.
func (n *Node) carve(ctx context.Context, c workload.Container, p pool.Pod) error {
	undo, err := n.reserve(c, p)
	if err != nil {
		return err
	}
	if err := n.save(); err != nil {
		undo()
		return refuse(CheckpointFailed, "the node cannot remember what it would grant: %s; make room or repair the disk of the checkpoint", err)
	}
	if err := n.shrink(ctx); err != nil {
		undo()
		n.settleAfterRelease(context.WithoutCancel(ctx))
		return refuse(CgroupFailed, "CPUs for the pod cannot be freed: %s; the kubelet will try again", err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("carved", "container", c.String(), "cpus", n.decide(c).CPUs.String(), "shared", n.shared().String())
	return nil
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

// shrink confines everybody who shares to the shared set, and fails when one
// cannot be. Callers hold the lock.
func (n *Node) shrink(ctx context.Context) error { return n.confineSharers(ctx, Shrink) }

// settleAfterRelease makes a release durable and gives the CPUs to everybody
// who shares. Nobody overlaps when either fails, so failures are only logged.
// Callers hold the lock.
func (n *Node) settleAfterRelease(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	if err := n.save(); err != nil {
		log.Error(err, "a release is not remembered; it will be found out again after a restart")
	}
	if err := n.confineSharers(ctx, Grow); err != nil {
		log.Error(err, "some containers do not get released CPUs until they are written next")
	}
}

// confineSharers writes the shared set to every sandbox and every container
// that holds nothing, and goes on after a failure. A missing cgroup is a
// container not started yet (Start writes it) or gone.
func (n *Node) confineSharers(ctx context.Context, why Why) error {
	shared, start := n.shared(), n.env.Now()
	written := 0
	var errs []error
	confine := func(what, cgroup string) {
		err := n.env.Cgroups.Confine(ctx, cgroup, shared, nil)
		if err == nil {
			written++
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("confine %s to CPUs %s: %w", what, shared, err))
		}
	}
	for _, p := range n.mu.pods {
		p.sharers(n.mu.book, confine)
	}
	errs = append(errs, n.env.Cgroups.Settle(ctx))
	n.env.Observer.Wrote(why, written, n.env.Now().Sub(start))
	return errors.Join(errs...)
}

// sharers yields the cgroups of a pod that hold nothing.
func (p *pod) sharers(b *book, yield func(what, cgroup string)) {
	for _, s := range p.sandboxes {
		if s.Cgroup != "" {
			yield("the sandbox of pod "+p.ref.String(), s.Cgroup)
		}
	}
	for _, c := range p.containers {
		if _, holds := b.claim(p.ref.UID, c.Name); !holds {
			yield("container "+c.String(), c.Cgroup)
		}
	}
}
