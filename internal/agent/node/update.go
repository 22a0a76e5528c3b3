package node

import (
	"context"

	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// Update returns the CPUs of a container whose resources the kubelet resizes in place.
// The answer is needed although the CPUs do not change: the runtime writes the whole
// old spec of the container again, with an outdated shared set. The number of
// exclusive CPUs cannot change.
func (n *Node) Update(ctx context.Context, c workload.Container, want workload.Resources) (workload.Decision, error) {
	d, err := n.update(ctx, c, want)
	return d, n.reportRefusal(ctx, c, err, retried)
}

func (n *Node) update(ctx context.Context, c workload.Container, want workload.Resources) (workload.Decision, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.decide(c)
	if !d.Exclusive {
		return d, nil
	}
	// The kubelet writes the pod's quota before this call, whatever the answer.
	if err := n.liftQuotaForGood(ctx, c.Sandbox); err != nil {
		return workload.Decision{}, err
	}
	claim, _ := n.mu.book.claim(c.Sandbox.Pod.UID, c.Name)
	if resizes(claim, want) {
		return workload.Decision{}, refuse(Resize, "container %q has %d exclusive CPUs (%s), which cannot be resized in place; restore its cpu and memory, and create a new pod for another size",
			c.Name, claim.CPUs.Len(), claim.CPUs)
	}
	return d, nil
}

// resizes reports whether want changes the CPUs of the claim, or the memory that is
// bound to their NUMA node. A zero in want means unchanged.
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

// Updated writes the CPUs of a container after the runtime has written its spec: the
// shared set may have shrunk between the answer of Update and that write.
func (n *Node) Updated(ctx context.Context, c workload.Container) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reportRefusal(ctx, c, n.assert(ctx, c, n.decide(c)), retried)
}
