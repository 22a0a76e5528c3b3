package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/topology"
	"github.com/numalet/numalet/pkg/workload"
)

// changed returns why a grant from before a reboot does not fit the machine now, or nil if it fits.
// Firmware and boot options can change which CPUs the machine has and to which NUMA nodes they
// belong. A grant that does not fit is dropped, and its pod gets CPUs like a new pod, as its
// placement says if it has one.
func (n *Node) changed(h Held) error {
	if !h.Grant.CPUs().SubsetOf(n.machine.Online().Minus(n.cfg.Reserved)) {
		return errors.New("they are offline or reserved since the reboot")
	}
	for _, id := range slices.Sorted(maps.Keys(h.Homes)) {
		cpus := h.Homes[id]
		if gone := cpus.Minus(n.mu.book.ledger.Homes(cpus)[id]); !gone.Empty() {
			return fmt.Errorf("CPUs %s were on NUMA node %d before the reboot", gone, id)
		}
	}
	for _, c := range h.Grant.Claims {
		if gone := n.withoutMemory(c); len(gone) > 0 {
			return fmt.Errorf("NUMA nodes %v have no memory since the reboot", gone)
		}
	}
	return nil
}

// withoutMemory returns those NUMA nodes to which a claim's memory is bound that no longer exist or
// have no memory now.
func (n *Node) withoutMemory(c pool.Claim) (gone []topology.NodeID) {
	for _, id := range c.Mems {
		if node := n.machine.Node(id); node == nil || node.MemoryBytes == 0 {
			gone = append(gone, id)
		}
	}
	return gone
}

// replaceOffline gives pods free CPUs in place of those of their CPUs that went offline, as far as
// CPUs are free. Callers hold the lock. After the call, they must write the checkpoint and all
// cgroups.
func (n *Node) replaceOffline(ctx context.Context) {
	for _, uid := range n.uids() {
		if n.mu.book.replaceOffline(uid) != nil {
			logr.FromContextOrDiscard(ctx).Info("replaced CPUs that went offline", "uid", uid)
		}
	}
}

// refit is called before a container that already has a grant is created. If CPUs of the grant are
// offline, it replaces them, or refuses the container if no other CPUs are free. It also refuses
// the container if a NUMA node to which its memory is bound has no memory. Callers hold the lock.
func (n *Node) refit(ctx context.Context, c workload.Container) (specs []workload.Spec, err error) {
	uid := c.Sandbox.Pod.UID
	if undo := n.mu.book.replaceOffline(uid); undo != nil {
		if specs, err = n.commit(ctx, c.Sandbox, undo); err != nil {
			return nil, err
		}
		n.assertPod(ctx, n.mu.pods[uid])
	}
	claim, _ := n.mu.book.claim(uid, c.Name)
	if lost := n.mu.book.ledger.Lost(claim); !lost.Empty() {
		return nil, refuse(MachineChanged, "container %q holds CPUs %s, of which %s are offline, and no other CPU of their NUMA node is free; bring them online, or wait until another pod ends",
			c.Name, claim.CPUs, lost)
	}
	if gone := n.withoutMemory(claim); len(gone) > 0 {
		return nil, refuse(MachineChanged, "the memory of container %q is bound to the NUMA nodes %v, which are gone or have no memory; restore them, or delete the pod, so that it is made and placed anew", c.Name, gone)
	}
	return specs, nil
}
