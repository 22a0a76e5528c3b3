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

// changed checks whether a grant from before a reboot still fits the machine. It returns nil if the
// grant fits, and otherwise the reason. Firmware and boot options can change which CPUs the machine
// has, and to which NUMA nodes they belong. The caller drops a grant that does not fit, and the pod
// gets CPUs as a new pod would.
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

// withoutMemory returns those NUMA nodes in c.Mems that no longer exist, or no longer have memory.
// The memory of the container that has the claim c is bound to the NUMA nodes in c.Mems.
func (n *Node) withoutMemory(c pool.Claim) (gone []topology.NodeID) {
	for _, id := range c.Mems {
		if node := n.machine.Node(id); node == nil || node.MemoryBytes == 0 {
			gone = append(gone, id)
		}
	}
	return gone
}

// replaceOffline replaces the offline CPUs in the grants of all pods with free CPUs. If there are not
// enough free CPUs, some offline CPUs remain in the grants. Callers hold n.mu. After the call, the
// caller must write the checkpoint file and all cgroups.
func (n *Node) replaceOffline(ctx context.Context) {
	for _, uid := range n.uids() {
		if n.mu.book.replaceOffline(uid) != nil {
			logr.FromContextOrDiscard(ctx).Info("replaced CPUs that went offline", "uid", uid)
		}
	}
}

// refit is called before the creation and before the start of a container that already has
// exclusive CPUs, such as one that restarts. If some of these CPUs are offline, refit replaces
// them. It refuses the container if there are not enough free CPUs. It also refuses the container
// if its memory is bound to a NUMA node that is gone or no longer has memory. And it refuses the
// container if a shared container may be running on exclusive CPUs (see the method confineAgain).
// Callers hold n.mu.
func (n *Node) refit(ctx context.Context, c workload.Container) (specs []workload.Spec, err error) {
	uid := c.Sandbox.Pod.UID
	if undo := n.mu.book.replaceOffline(uid); undo != nil {
		if specs, err = n.commit(ctx, c.Sandbox, undo); err != nil {
			return nil, err
		}
		n.assertPod(ctx, uid)
	}
	claim, _ := n.mu.book.claim(uid, c.Name)
	if lost := n.mu.book.ledger.Lost(claim); !lost.Empty() {
		return nil, refuse(MachineChanged, "container %q holds CPUs %s, of which %s are offline, and no other CPU of their NUMA node is free; bring them online, or wait until another pod ends",
			c.Name, claim.CPUs, lost)
	}
	if gone := n.withoutMemory(claim); len(gone) > 0 {
		return nil, refuse(MachineChanged, "the memory of container %q is bound to the NUMA nodes %v, which are gone or have no memory; restore them, or delete the pod, so that a new pod is placed again", c.Name, gone)
	}
	again, err := n.confineAgain(ctx)
	return append(specs, again...), err
}
