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

// carve makes CPUs exclusive to a pod, in these steps:
//
//  1. reserve the requested CPUs in the ledger of exclusive CPUs: all of them, or none
//  2. write the checkpoint
//  3. remove the CFS quota of the pod's cgroup
//  4. remove the CPUs from the cpusets of all shared containers, send systemd the changes of steps 3
//     and 4, and move interrupts off these CPUs if the pod requests isolation
//  5. move the pod's other exclusive containers to their CPUs, if they already run (see pinSiblings), and
//     send systemd this change
//
// If a step fails, carve reverts the steps before it, so that the pod does not hold these CPUs. Two
// changes stay, because the kubelet will try to create the container again. The CFS quota stays
// removed. And if systemd did not apply all changes of step 4 in time, the shared containers stay off
// the CPUs for a while (see the type `withheld`). carve returns new specs for those shared containers
// (containers without exclusive CPUs) that have no cgroup, because only the spec of such a container
// can be changed (see confineSharers). Callers hold n.mu.
func (n *Node) carve(ctx context.Context, c workload.Container, got class) ([]workload.Spec, error) {
	undo, err := n.reserveOrReject(ctx, c, got)
	if err != nil {
		return nil, err
	}
	specs, err := n.commit(ctx, c.Sandbox, undo)
	if err != nil {
		return nil, err
	}
	if err := n.pinSiblings(ctx, c); err != nil {
		n.revert(ctx, c.Sandbox, undo, err)
		return nil, err
	}
	n.notePartlyIsolated(c.Sandbox)
	logr.FromContextOrDiscard(ctx).V(2).Info("carved", "container", c.String(), "cpus", n.decide(c).CPUs.String(), "shared", n.shared().String())
	return specs, nil
}

// commit completes a change of the ledger of exclusive CPUs. It writes the checkpoint, removes the
// CFS quota of the pod's cgroup, and moves shared containers off the pod's CPUs (steps 2 to 4 of
// carve). If a step fails, it calls `undo`, which reverts the change of the ledger. Shared
// containers then get the CPUs back: at once, or later if systemd did not apply all changes in time
// (see the type `withheld`). Callers hold n.mu.
func (n *Node) commit(ctx context.Context, s workload.Sandbox, undo func()) ([]workload.Spec, error) {
	if err := n.save(); err != nil {
		undo()
		return nil, refuse(CheckpointFailed, "cannot write the checkpoint: %s; free disk space or repair the file system", err)
	}
	specs, err := n.clear(ctx, s)
	if err != nil {
		n.revert(ctx, s, undo, err)
	}
	return specs, err
}

// pinSiblings writes the CPUs of the other exclusive containers of a container's pod to their
// cgroups. Such a container may already run without a grant, on the shared CPUs, for example if it
// ran before the agent was installed, and no CPUs were free then. From the grant on, it is no shared
// container any more, so nothing else would move it off the CPUs that become exclusive. Callers hold
// n.mu.
func (n *Node) pinSiblings(ctx context.Context, c workload.Container) error {
	return n.pinForGood(ctx, c.Sandbox.Pod.UID, c.ID)
}

// pinForGood does what pin does, and waits until systemd has applied the changes, so that a
// daemon-reload does not revert them. Callers hold n.mu.
func (n *Node) pinForGood(ctx context.Context, uid, but string) error {
	if err := n.pin(ctx, uid, but); err != nil {
		return err
	}
	if err := n.persist(ctx); err != nil {
		return notPersisted{refuse(CgroupFailed, "systemd does not know yet on which CPUs other containers of the pod run: %s", err)}
	}
	return nil
}

// pin writes the CPUs of a pod's exclusive containers to their cgroups, except for the container with
// the ID `but`. Callers hold n.mu.
func (n *Node) pin(ctx context.Context, uid, but string) error {
	p := n.mu.pods[uid]
	if p == nil {
		return nil
	}
	var errs []error
	for _, c := range p.containers {
		if d := n.decide(c); d.Exclusive && c.ID != but {
			errs = append(errs, n.assert(ctx, c, d))
		}
	}
	return errors.Join(errs...)
}

// revert calls `undo`, which reverts a change of the ledger for the sandbox's pod. It then gives
// the CPUs of the change back to shared containers. The change has failed with the error `why`. If it
// failed because the hook's time ran out, or because systemd does not know the new CPUs of all
// containers yet, revert withholds these CPUs instead: shared containers may use them only after some
// time (see the type `withheld`). Callers hold n.mu.
func (n *Node) revert(ctx context.Context, s workload.Sandbox, undo func(), why error) {
	late := ctx.Err() != nil || errors.As(why, new(notPersisted))
	ctx = context.WithoutCancel(ctx)
	before := n.mu.book.ledger.Shared()
	undo()
	if !late {
		n.finishRelease(ctx)
		return
	}
	n.withhold(ctx, s.Pod.UID, n.mu.book.ledger.Shared().Minus(before))
}

// clear removes the CFS quota of the cgroup of the sandbox's pod. It moves all shared containers,
// and interrupts if the pod requests isolation, off the CPUs that were granted to the pod. Callers
// hold n.mu.
func (n *Node) clear(ctx context.Context, s workload.Sandbox) ([]workload.Spec, error) {
	if err := n.liftQuota(ctx, s.PodCgroup); err != nil {
		return nil, err
	}
	specs, err := n.confineSharers(ctx, Shrink)
	if err != nil {
		refusal := refuse(CgroupFailed, "cannot move shared containers off the CPUs for the pod: %s", err)
		if errors.As(err, new(notPersisted)) {
			return nil, notPersisted{refusal}
		}
		return nil, refusal
	}
	// If interrupts cannot be moved, only the containers of pods that request isolation are
	// refused. Other containers start anyway.
	if err := n.isolate(ctx); err != nil {
		if isolates(s) {
			return nil, err
		}
		logr.FromContextOrDiscard(ctx).Error(err, "interrupts may reach isolated CPUs of other pods; retrying")
	}
	return specs, nil
}

// reserve grants the CPUs that the container's pod requests. If each container of the pod has a
// grant of its own, reserve grants only the CPUs of the container c. Callers hold n.mu.
func (n *Node) reserve(c workload.Container, p pool.Pod) (undo func(), err error) {
	s := c.Sandbox
	if p.UID == s.Pod.UID && n.mu.book.byContainer(p.UID) {
		p = onlyContainer(p, c.Name)
	}
	return n.mu.book.reserve(Held{Pod: s.Pod, Cgroup: s.PodCgroup, Static: isStatic(s), Isolated: isolates(s)}, p)
}

// finishRelease completes the release of exclusive CPUs. It writes the checkpoint file and adds the
// released CPUs to all shared containers. finishRelease only logs a failure, because no failure
// lets a container run on exclusive CPUs of another container. Callers hold n.mu.
func (n *Node) finishRelease(ctx context.Context) {
	n.saveRelease(ctx)
	if _, err := n.confineSharers(ctx, Grow); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "cannot add the released CPUs to some shared containers; they get them at the next write")
	}
	n.isolateAfterRelease(ctx)
}

func (n *Node) saveRelease(ctx context.Context) {
	if err := n.save(); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "cannot write the checkpoint after a release; the release is repeated after a restart")
	}
}

func (n *Node) isolateAfterRelease(ctx context.Context) {
	if err := n.isolate(ctx); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "cannot put interrupts back to the released CPUs; retrying")
	}
}

// confineSharers writes the shared CPUs to the cpusets that limit the sandboxes and the shared
// containers (see the method sharers). If it cannot write one cpuset, it continues with the other
// cpusets. The parameter `why` is Shrink if CPUs become exclusive, and Grow if released CPUs become
// shared. With Shrink, confineSharers waits until systemd has the shared CPUs, too. With Grow, it does
// not wait. If systemd does a daemon-reload before it knows the new CPUs, it writes the old CPUs to
// the cgroups. All of the old CPUs are still shared, so no shared container runs on exclusive CPUs.
// With Assert, the caller must call persist. confineSharers returns new specs for the shared
// containers without a cgroup, which have not started or have ended. Callers hold n.mu.
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
	n.mu.unconfined = len(errs) > 0
	switch why {
	case Grow:
		n.env.Cgroups.PersistLater()
	case Shrink:
		errs = append(errs, n.persist(ctx))
	}
	n.env.Observer.Wrote(why, written, n.env.Now().Sub(start))
	return absent, errors.Join(errs...)
}

// confineAgain writes the cpusets of all sandboxes and shared containers again if the last write
// failed for some of them. A container whose cpuset was not written may be running on exclusive
// CPUs, for example if the container was created while the agent was down. confineAgain also writes
// all cpusets again if containers in the cgroup of a QoS class may still have cpusets of their own
// (see widenSharers). It does not wait for systemd. It returns new specs as confineSharers does.
// Callers hold n.mu.
func (n *Node) confineAgain(ctx context.Context) ([]workload.Spec, error) {
	if !n.mu.unconfined && !n.mu.narrow {
		return nil, nil
	}
	specs, err := n.confineSharers(ctx, Grow)
	if err != nil {
		return nil, refuse(CgroupFailed, "cannot move shared containers off exclusive CPUs: %s", err)
	}
	return specs, nil
}

// sharer is a cgroup on the shared CPUs: the cgroup of a sandbox, of a container, or of a QoS
// class. For a sandbox or a QoS class, the field containerID is "".
type sharer struct{ name, cgroup, containerID string }

// sharers returns the cgroups whose cpusets limit all sandboxes and shared containers. These are
// the cgroups of QoS classes, and the cgroups of those sandboxes and shared containers that are in
// no cgroup of a QoS class. If the cgroup of a QoS class does not exist, the result lacks it, because
// the class then has no processes.
func (n *Node) sharers() []sharer {
	var all []sharer
	for _, class := range n.env.Cgroups.QoSCgroups() {
		all = append(all, sharer{name: "the pods in " + class, cgroup: class})
	}
	for _, p := range n.mu.pods {
		if p.qosCgroup == "" {
			all = append(all, n.sharersOf(p)...)
		}
	}
	return all
}

// sharersOf returns the cgroups of a pod's sandboxes and shared containers.
func (n *Node) sharersOf(p *pod) []sharer {
	var all []sharer
	for _, s := range p.sandboxes {
		if s.Cgroup != "" {
			all = append(all, sharer{name: "the sandbox of pod " + p.ref.String(), cgroup: s.Cgroup})
		}
	}
	for _, c := range p.containers {
		if !n.decide(c).Exclusive {
			all = append(all, sharerOf(c))
		}
	}
	return all
}

func sharerOf(c workload.Container) sharer {
	return sharer{"container " + c.String(), c.Cgroup, c.ID}
}
