package node

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// ResizedReason is the reason of an event on a pod. The event says that a container of the pod was
// resized in place.
const ResizedReason = "NumaletResized"

// confirmation is how long the container runtime may take to call Updated. With this call, the
// runtime confirms that it has applied a resize to more CPUs or memory. If the runtime fails to
// apply the resize, it never calls Updated, and after this time the agent undoes the resize. By
// default, the kubelet waits for the runtime for a shorter time (runtimeRequestTimeout, 2 minutes).
const confirmation = 3 * time.Minute

// grow gives a container more CPUs, or binds more of its memory to the NUMA nodes of its CPUs. It
// first reserves the CPUs and the memory in the ledger of exclusive CPUs. It then writes the
// checkpoint file, and moves shared containers off the CPUs (see the method `commit`). If one of
// these steps fails, grow undoes the steps before it. Callers hold n.mu.
func (n *Node) grow(ctx context.Context, c workload.Container, to size) ([]workload.Spec, error) {
	held, claim, _ := n.mu.book.holder(c.Sandbox.Pod.UID, c.Name)
	undo, err := n.mu.book.change(held, func(l *pool.Ledger, uid string) (pool.Grant, error) {
		if _, err := l.Bind(uid, c.Name, to.memory); err != nil {
			return pool.Grant{}, err
		}
		return l.Grow(uid, c.Name, to.cpus)
	})
	if err == nil {
		err = n.checkWholeCores(c, n.heldBy(c.Sandbox.Pod.UID), undo)
	}
	if err != nil {
		return nil, refuse(Resize, "%s, or wait until other pods end", refusal(c, claim, to, err))
	}
	return n.commit(ctx, c.Sandbox, undo)
}

// checkWholeCores refuses a resize after which the pod would hold only some CPUs of a core. For a
// new pod, reserveWholeCores makes the same check. The parameter `held` has all CPUs of the pod
// after the resize. If checkWholeCores refuses the resize, it calls `undo` and returns an error.
func (n *Node) checkWholeCores(c workload.Container, held cpuset.Set, undo func()) error {
	idle := n.mu.book.ledger.Idle(held)
	if idle.Empty() || n.cfg.isPlaced(c.Sandbox) {
		return nil
	}
	undo()
	return fmt.Errorf("CPUs %s would stay idle beside them, and this node gives whole cores only (--full-cores)", idle)
}

// keep returns which online CPUs a container keeps if it is resized to fewer CPUs. It refuses the
// resize if the container would keep only offline CPUs, or if checkWholeCores refuses it. Callers
// hold n.mu.
func (n *Node) keep(c workload.Container, claim pool.Claim, cpus int) (cpuset.Set, error) {
	uid := c.Sandbox.Pod.UID
	held, _, _ := n.mu.book.holder(uid, c.Name)
	kept := n.mu.book.ledger.Keep(held.Grant.UID, c.Name, cpus)
	err := n.checkWholeCores(c, n.heldBy(uid).Minus(claim.CPUs.Minus(kept)), func() {})
	online := kept.Minus(n.mu.book.ledger.Lost(claim))
	if err == nil && online.Empty() {
		err = fmt.Errorf("the CPUs %s that it would keep are offline", kept)
	}
	if err != nil {
		return cpuset.Set{}, refuse(Resize, "%s", refusal(c, claim, size{cpus, claim.MemoryBytes}, err))
	}
	return online, nil
}

// refusal returns the message for a refused resize. The message has the CPUs that the container
// keeps, the refused size, and the old size, which the user must restore.
func refusal(c workload.Container, claim pool.Claim, to size, why error) string {
	was := size{claim.CPUs.Len(), claim.MemoryBytes}
	if to.memory == was.memory {
		was.memory, to.memory = 0, 0
	}
	return fmt.Sprintf("container %q keeps its exclusive CPUs (%s) and cannot have %s: %s; set it to %s again", c.Name, claim.CPUs, to, why, was)
}

// String returns the size for a message, such as "cpu 4" or "cpu 4, memory 1Gi".
func (s size) String() string {
	text := fmt.Sprintf("cpu %d", s.cpus)
	if s.memory > 0 {
		text += ", memory " + resource.NewQuantity(int64(s.memory), resource.BinarySI).String()
	}
	return text
}

// fit is called before the creation and before the start of a container. It changes the container's
// exclusive CPUs and bound memory to the size that the kubelet wants. The container may hold a
// different number of CPUs after a resize that restarts the container, and after a resize before
// the container's first start. Callers hold n.mu.
func (n *Node) fit(ctx context.Context, c workload.Container) ([]workload.Spec, error) {
	claim, holds := n.mu.book.claim(c.Sandbox.Pod.UID, c.Name)
	if !holds {
		return nil, nil
	}
	to, err := n.newSize(c, claim, c.Resources)
	switch {
	case err != nil:
		return nil, err
	case to.exceeds(claim):
		return n.grow(ctx, c, to.atLeast(claim))
	}
	return nil, n.shrink(ctx, c, claim, to)
}

// followSpec changes a container's claim (its exclusive CPUs and bound memory) to the size in the
// spec that the container runtime has for the container. The two sizes differ in three cases. The
// runtime has just applied a resize to fewer CPUs. Or the runtime has not confirmed a resize to
// more CPUs in time. Or the runtime has resized the container while the agent was down. If the
// container has grown while the agent was down, followSpec reserves the missing CPUs now. If they
// are not free, it refuses the resize, although the kubelet believes that the resize is done.
// Callers hold n.mu.
func (n *Node) followSpec(ctx context.Context, c workload.Container) error {
	p := n.mu.pods[c.Sandbox.Pod.UID]
	claim, holds := n.mu.book.claim(c.Sandbox.Pod.UID, c.Name)
	if !holds || p == nil || p.newest[c.Name] != c.ID || n.env.Now().Before(n.mu.confirm[c.ID]) {
		return nil
	}
	delete(n.mu.confirm, c.ID)
	to, err := n.newSize(c, claim, c.Resources)
	if err != nil {
		return err
	}
	if to.exceeds(claim) {
		if _, err := n.grow(ctx, c, to.atLeast(claim)); err != nil {
			return err
		}
		n.noteSize(c, claim)
		return n.assert(ctx, c, n.decide(c))
	}
	return n.shrink(ctx, c, claim, to)
}

// shrink reduces a container's claim (its exclusive CPUs and bound memory) to the new size, and
// writes the checkpoint file. The pod holds the removed CPUs until finishResizes makes them shared.
// Callers hold n.mu.
func (n *Node) shrink(ctx context.Context, c workload.Container, claim pool.Claim, to size) error {
	if to.cpus >= claim.CPUs.Len() && to.memory >= claim.MemoryBytes {
		return nil
	}
	held, _, _ := n.mu.book.holder(c.Sandbox.Pod.UID, c.Name)
	kept := n.mu.book.ledger.Keep(held.Grant.UID, c.Name, to.cpus)
	if r := c.Resources; r.Pinned() && r.CPUs.Len() == to.cpus && r.CPUs.SubsetOf(claim.CPUs) {
		kept = r.CPUs // the CPUs that Update returned to the runtime
	}
	undo, err := n.mu.book.change(held, func(l *pool.Ledger, uid string) (pool.Grant, error) {
		if _, err := l.Bind(uid, c.Name, min(to.memory, claim.MemoryBytes)); err != nil {
			return pool.Grant{}, err
		}
		return l.Shrink(uid, c.Name, kept)
	})
	if err != nil {
		return err
	}
	if err := n.save(); err != nil {
		undo() // followSpec tries again in the next call of the method `sweep`
		return refuse(CheckpointFailed, "cannot write the checkpoint: %s; free disk space or repair the file system", err)
	}
	n.noteSize(c, claim)
	delete(n.mu.leave, held.Grant.UID) // so that in finishResizes, the idle time (see the constant `grace`) begins anew for all CPUs that the pod gives back
	n.finishResizes(ctx)
	n.wake()
	return nil
}

// noteGrowth writes an event on the pod if the container runtime confirms a resize of the container
// c to more CPUs. It must be called before n.learn, which records the container's new CPUs in
// n.mu.pods: until then, n.mu.pods has the CPUs from before the resize.
func (n *Node) noteGrowth(c workload.Container) {
	_, grows := n.mu.confirm[c.ID]
	p := n.mu.pods[c.Sandbox.Pod.UID]
	if !grows || p == nil {
		return
	}
	delete(n.mu.confirm, c.ID)
	n.noteSize(c, pool.Claim{CPUs: p.containers[c.ID].Resources.CPUs})
}

// noteSize writes an event on the pod if the exclusive CPUs of a container have changed. The
// parameter `before` has the container's exclusive CPUs from before the change.
func (n *Node) noteSize(c workload.Container, before pool.Claim) {
	claim, _ := n.mu.book.claim(c.Sandbox.Pod.UID, c.Name)
	if claim.CPUs.Equal(before.CPUs) {
		return
	}
	message := fmt.Sprintf("container %q has these exclusive CPUs now: %s", c.Name, claim.CPUs)
	if gone := before.CPUs.Minus(claim.CPUs); !gone.Empty() {
		message += fmt.Sprintf("; it gave back CPUs %s, which become shared in %s", gone, grace)
	}
	n.env.Events.Note(c.Sandbox.Pod, ResizedReason, message)
}

// catchUp calls followSpec for all containers, to complete resizes that are not complete yet. It
// does not report refusals as events, because each sweep calls it and would report the same refusal
// again. Callers hold n.mu.
func (n *Node) catchUp(ctx context.Context) {
	for _, c := range n.running() {
		if err := n.followSpec(ctx, c); err != nil {
			logr.FromContextOrDiscard(ctx).V(2).Info("a container still has another size than its spec", "container", c.String(), "err", err.Error())
		}
	}
}
