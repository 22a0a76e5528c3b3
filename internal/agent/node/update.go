package node

import (
	"context"
	"time"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// Update returns the CPUs of a container whose resources the kubelet resizes in place. The
// answer is needed even if the CPUs do not change: the runtime writes the whole old spec of
// the container again, with an outdated shared set.
//
// A growth is in the ledger and the checkpoint, and shared containers are off the new CPUs,
// before the answer. A shrink changes nothing yet: the runtime may still fail to write it, so
// followSpec changes the claim when the runtime has told the container. An error refuses the
// update: the container keeps its size, the kubelet shows the error in the condition
// PodResizeInProgress of the pod and tries again.
func (n *Node) Update(ctx context.Context, c workload.Container, want workload.Resources) (workload.Answer, error) {
	a, err := n.update(ctx, c, want)
	return a, n.reportRefusal(ctx, c, err, retried)
}

func (n *Node) update(ctx context.Context, c workload.Container, want workload.Resources) (a workload.Answer, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a.Decision = n.decide(c)
	if !a.Exclusive {
		return a, n.checkStaysShared(c, want)
	}
	n.learn(c)
	// The kubelet writes the pod's quota before this call, whatever the answer.
	if err := n.liftQuotaForGood(ctx, c.Sandbox); err != nil {
		return workload.Answer{}, err
	}
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
	if _, grows := n.mu.confirm[c.ID]; grows { // also one that the runtime failed to write
		n.mu.confirm[c.ID] = n.env.Now().Add(confirmation)
	}
	if to.cpus < claim.CPUs.Len() {
		a.CPUs, err = n.keep(c, claim, to.cpus)
	}
	return a, err
}

// checkStaysShared refuses a shared container a size with which it would be exclusive.
func (n *Node) checkStaysShared(c workload.Container, want workload.Resources) error {
	_, policy := c.Sandbox.Annotations[v1alpha1.AnnotationCPUPolicy]
	if _, whole := want.WholeCPUs(); !whole || !policy || exempted(c) || n.holds(c) || !n.mu.book.whole(c.Sandbox.Pod.UID) {
		return nil
	}
	return refuse(Resize, "container %q shares CPUs, and with a whole number of CPUs it would get exclusive ones, which a running container cannot; restore its cpu, or create a new pod", c.Name)
}

// Updated is called when the runtime has written a container's resources. It writes the
// container's CPUs again: the shared set may have shrunk between the answer of Update and
// that write.
func (n *Node) Updated(ctx context.Context, c workload.Container) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.noteGrowth(c)
	n.learn(c)
	err := n.followSpec(ctx, c)
	if err == nil {
		err = n.assert(ctx, c, n.decide(c))
	}
	return n.reportRefusal(ctx, c, err, retried)
}

// learn records the resources that the runtime reports for a known container. Callers hold the
// lock.
func (n *Node) learn(c workload.Container) {
	if p := n.mu.pods[c.Sandbox.Pod.UID]; p != nil {
		if _, known := p.containers[c.ID]; known {
			p.containers[c.ID] = c
		}
	}
}

// size is what a container is resized to.
type size struct {
	cpus   int
	memory uint64 // that is bound to the NUMA nodes of the CPUs; 0 if none is
}

// sizeOf returns the size of a container by its resources; where they say nothing, it keeps the
// claim's size.
func sizeOf(claim pool.Claim, r workload.Resources) (size, error) {
	cpus, err := r.ExclusiveCPUs()
	if err != nil {
		return size{}, err
	}
	to := size{cpus, claim.MemoryBytes}
	if cpus == 0 {
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

// atLeast returns the size, raised to that of the claim where it is smaller.
func (s size) atLeast(c pool.Claim) size {
	return size{max(s.cpus, c.CPUs.Len()), max(s.memory, c.MemoryBytes)}
}

// newSize returns the size that the kubelet wants, if a container with exclusive CPUs may
// have it.
func (n *Node) newSize(c workload.Container, claim pool.Claim, want workload.Resources) (size, error) {
	to, err := sizeOf(claim, want)
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
