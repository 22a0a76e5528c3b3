package node

import (
	"context"
	"time"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// Update returns the CPUs of a container whose resources the kubelet resizes in place. The container
// runtime needs the CPUs even if they do not change. Without an answer, the runtime would write the
// CPUs of the container's old spec again. Some of these CPUs may be exclusive to another container
// by now.
//
// If the container gets more CPUs, Update first reserves them, writes the checkpoint, and moves
// shared containers off them. If it gets fewer CPUs, Update changes nothing yet, because the
// runtime may fail to apply the resize. When the runtime has applied the resize, followSpec takes
// the CPUs from the container. If Update returns an error, the container keeps its size. The
// kubelet then shows the error in the pod's condition PodResizeInProgress, and tries again.
func (n *Node) Update(ctx context.Context, c workload.Container, want workload.Resources) (workload.Answer, error) {
	a, err := n.update(ctx, c, want)
	return a, n.reportRefusal(ctx, c, err, retried)
}

func (n *Node) update(ctx context.Context, c workload.Container, want workload.Resources) (a workload.Answer, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	// The kubelet writes a new CFS quota of the pod before the runtime calls Update, also if it resizes a
	// shared container of the pod. So the quota must be removed again, even if the resize is refused.
	if len(n.mu.book.of(c.Sandbox.Pod.UID)) > 0 {
		if err := n.liftQuota(ctx, c.Sandbox.PodCgroup); err != nil {
			return workload.Answer{}, err
		}
		n.env.Cgroups.PersistLater()
	}
	a.Decision = n.decide(c)
	if !a.Exclusive {
		if err := n.checkStaysShared(c, want); err != nil {
			return workload.Answer{}, err
		}
		if n.qosCgroup(c.Sandbox) != "" {
			a.CPUs = cpuset.Set{}
			return a, nil
		}
		n.mu.resized[c.ID] = n.env.Now().Add(confirmation)
		n.wake()
		return a, nil
	}
	n.learn(c)
	claim, _ := n.mu.book.claim(c.Sandbox.Pod.UID, c.Name)
	to, err := n.newSize(c, claim, want)
	if err != nil {
		return workload.Answer{}, err
	}
	if to.exceeds(claim) {
		if a.Specs, err = n.grow(ctx, c, to.atLeast(claim)); err != nil {
			return workload.Answer{}, err
		}
		n.mu.confirm[c.ID] = time.Time{}
		a.Decision = n.decide(c)
	}
	if _, grows := n.mu.confirm[c.ID]; grows { // also if this is a retry after the runtime failed to apply the resize
		n.mu.confirm[c.ID] = n.env.Now().Add(confirmation)
		n.wake() // so that Run undoes the resize if the runtime does not confirm it
	}
	if to.cpus < claim.CPUs.Len() {
		a.CPUs, err = n.keep(c, claim, to.cpus)
	}
	return a, err
}

// checkStaysShared refuses to resize a shared container to a whole number of CPUs, if a new
// container of that size would get exclusive CPUs. A running container cannot change from shared
// to exclusive CPUs.
func (n *Node) checkStaysShared(c workload.Container, want workload.Resources) error {
	_, policy := c.Sandbox.Annotations[v1alpha1.AnnotationCPUPolicy]
	if _, whole := want.WholeCPUs(); !whole || !policy || exempted(c) || n.holds(c) || !n.mu.book.whole(c.Sandbox.Pod.UID) {
		return nil
	}
	return refuse(Resize, "container %q shares CPUs, and with a whole number of CPUs it would get exclusive ones, which a running container cannot; restore its cpu, or create a new pod", c.Name)
}

// Updated is called when the container runtime has written a container's new resources. It writes
// the container's CPUs again, because shared CPUs may have become exclusive between the return of
// Update and the write of the runtime.
func (n *Node) Updated(ctx context.Context, c workload.Container) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.mu.resized, c.ID)
	n.noteGrowth(c)
	n.learn(c)
	err := n.followSpec(ctx, c)
	if err == nil {
		err = n.assert(ctx, c, n.decide(c))
	}
	return n.reportRefusal(ctx, c, err, retried)
}

// learn records in n.mu.pods which resources the container runtime reports for a container.
// Callers hold n.mu.
func (n *Node) learn(c workload.Container) {
	if p := n.mu.pods[c.Sandbox.Pod.UID]; p != nil {
		if _, known := p.containers[c.ID]; known {
			p.containers[c.ID] = c
		}
	}
}

// size is the size to which the kubelet resizes a container.
type size struct {
	cpus   int
	memory uint64 // bytes that are bound to the NUMA nodes of the CPUs; 0 if none are bound
}

// sizeOf returns the size of a container according to its resources r. If r lacks the number of
// CPUs or the memory, sizeOf takes the missing value from the claim, which has the container's
// current CPUs and memory. For more than 256 CPUs, only the set of CPUs in r tells the number. This set
// lacks offline CPUs of the claim, which the parameter `lost` has.
func sizeOf(claim pool.Claim, lost cpuset.Set, r workload.Resources) (size, error) {
	cpus, err := r.ExclusiveCPUs()
	if err != nil {
		return size{}, err
	}
	to := size{cpus, claim.MemoryBytes}
	switch {
	case cpus == 0 && r.Pinned():
		to.cpus = r.CPUs.Union(lost).Len()
	case cpus == 0:
		to.cpus = claim.CPUs.Len()
	}
	if claim.MemoryBytes > 0 && r.MemoryBytes > 0 {
		to.memory = uint64(r.MemoryBytes)
	}
	return to, nil
}

func (s size) exceeds(c pool.Claim) bool {
	return s.cpus > c.CPUs.Len() || s.memory > c.MemoryBytes
}

// atLeast returns the size s, but with no fewer CPUs and no less memory than the claim c, which is
// what the container has now.
func (s size) atLeast(c pool.Claim) size {
	return size{max(s.cpus, c.CPUs.Len()), max(s.memory, c.MemoryBytes)}
}

// newSize returns the size that the kubelet wants for a container. It returns an error if a
// container with exclusive CPUs cannot be resized to that size.
func (n *Node) newSize(c workload.Container, claim pool.Claim, want workload.Resources) (size, error) {
	to, err := sizeOf(claim, n.mu.book.ledger.Lost(claim), want)
	if err != nil {
		return size{}, refuse(Resize, "container %q keeps its exclusive CPUs (%s): they stay a whole number, with a request like the limit, and %s; set its cpu request and limit to a whole number",
			c.Name, claim.CPUs, err)
	}
	if to.cpus != claim.CPUs.Len() && len(v1alpha1.ParseAllocated(c.Annotations)) > 0 {
		return size{}, refuse(Resize, "container %q keeps its exclusive CPUs (%s): they are limits by NUMA node, which Kubernetes cannot resize; restore its cpu, or create a new pod",
			c.Name, claim.CPUs)
	}
	return to, nil
}
