package node

import (
	"context"

	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// Update answers where a container belongs whose resources the kubelet changes
// in place. The answer is needed although nothing moves: the runtime writes the
// container's whole old spec again, and with it a shared set of long ago. An
// exclusive container keeps its count.
func (n *Node) Update(ctx context.Context, c workload.Container, want workload.Resources) (workload.Decision, error) {
	d, err := n.update(ctx, c, want)
	return d, n.tell(ctx, c, err)
}

func (n *Node) update(ctx context.Context, c workload.Container, want workload.Resources) (workload.Decision, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.decide(c)
	if !d.Exclusive {
		return d, nil
	}
	// The kubelet writes the pod's quota before it asks, and whatever the answer.
	if err := n.settleQuota(ctx, c.Sandbox); err != nil {
		return workload.Decision{}, err
	}
	claim, _ := n.mu.book.claim(c.Sandbox.Pod.UID, c.Name)
	if resizes(claim, want) {
		return workload.Decision{}, refuse(Resize, "container %q has %d exclusive CPUs (%s), which cannot be resized in place; set its cpu and memory back, and make a new pod for another size",
			c.Name, claim.CPUs.Len(), claim.CPUs)
	}
	return d, nil
}

// resizes reports whether want changes what was counted for the claim: its
// CPUs, or the memory bound to their NUMA node. Zeros of want are unchanged.
func resizes(claim pool.Claim, want workload.Resources) bool {
	cpus := uint64(claim.CPUs.Len())
	switch {
	case want.Shares != 0 && want.Shares != cpus*1024:
		return true
	case want.QuotaMicros > 0 && uint64(want.QuotaMicros) != cpus*want.PeriodMicros:
		return true
	}
	return claim.MemoryBytes > 0 && want.MemoryBytes > 0 && uint64(want.MemoryBytes) != claim.MemoryBytes
}

// Updated puts a container where it belongs after the runtime wrote its spec:
// between Update's answer and that write the shared set may have shrunk.
func (n *Node) Updated(ctx context.Context, c workload.Container) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.tell(ctx, c, n.assert(ctx, c, n.decide(c)))
}
