package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/workload"
)

// RunSandbox is called when the container runtime has created a sandbox. It adds the sandbox to
// the state of the node, and moves the pause process of the sandbox, which already runs, to the
// shared CPUs.
func (n *Node) RunSandbox(ctx context.Context, s workload.Sandbox) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addSandbox(s)
	if s.Cgroup == "" {
		return nil
	}
	start, class, shared := n.env.Now(), n.qosCgroup(s), workload.Decision{CPUs: n.shared()}
	err := n.env.Cgroups.Confine(ctx, cmp.Or(class, s.Cgroup), shared)
	if err == nil && class != "" && !n.limits(class) { // systemd does not know the CPUs of the class yet
		n.mu.narrow = true
		err = n.env.Cgroups.Confine(ctx, s.Cgroup, shared)
	}
	if err == nil {
		n.env.Cgroups.PersistLater()
	}
	n.env.Observer.Wrote(Assert, 1, n.env.Now().Sub(start))
	if err == nil || errors.Is(err, fs.ErrNotExist) || n.limits(class) {
		return nil
	}
	logr.FromContextOrDiscard(ctx).Error(err, "cannot confine a sandbox, so its creation fails", "pod", s.Pod.String())
	return fmt.Errorf("numalet: confine the sandbox of pod %s to CPUs %s: %w", s.Pod, n.shared(), err)
}

// StopSandbox releases the grants of the sandbox's pod if the pod has ended and has no processes.
// Otherwise it requests a sweep, which releases them later. A pod that continues in a new sandbox
// keeps its grants.
func (n *Node) StopSandbox(ctx context.Context, s workload.Sandbox) {
	if !n.releaseSandbox(ctx, s.Pod.UID) {
		n.PodEnded(s.Pod.UID)
	}
}

func (n *Node) releaseSandbox(ctx context.Context, uid string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.hasEnded(uid) || !n.empty(ctx, uid) {
		return false
	}
	n.release(ctx, uid)
	return true
}

// RemoveSandbox removes a sandbox and its containers from the state of the node. When the last
// sandbox of a pod is removed, RemoveSandbox releases the pod's grants. The kubelet does not remove
// the last sandbox while the pod exists.
func (n *Node) RemoveSandbox(ctx context.Context, s workload.Sandbox) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.mu.pods[s.Pod.UID]
	if p == nil {
		return
	}
	delete(p.sandboxes, s.ID)
	maps.DeleteFunc(p.containers, func(_ string, c workload.Container) bool { return c.Sandbox.ID == s.ID })
	if len(p.sandboxes) == 0 {
		n.release(ctx, s.Pod.UID)
	}
}

// Remove removes a container from the state of the node. The pod keeps its grant, so that the
// container gets the same CPUs if it is created again.
func (n *Node) Remove(c workload.Container) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.mu.pods[c.Sandbox.Pod.UID]; p != nil {
		delete(p.containers, c.ID)
	}
}
