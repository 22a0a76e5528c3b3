package node

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// reserveWholeCores reserves the CPUs of a pod that numalet-controller did not place. With the flag
// --full-cores, it refuses a pod that would hold only some CPUs of a core. The kubelet's option
// full-pcpus-only does the same. The reason for the refusal is that no other pod may use the
// remaining CPUs of the core, but the kubelet counts them as free. So the kubelet could admit
// another pod for these CPUs, and that pod could not start. The device plugin cannot prevent this,
// because a device plugin cannot change the kubelet's own count of CPUs. If numalet-controller
// placed a pod, it does no harm that the pod holds only some CPUs of a core, because the controller
// counts the whole core as used. Callers hold n.mu.
func (n *Node) reserveWholeCores(c workload.Container, p pool.Pod) (undo func(), err error) {
	if undo, err = n.reserve(c, p); err != nil {
		return nil, err
	}
	held := n.heldBy(c.Sandbox.Pod.UID)
	idle := n.mu.book.ledger.Idle(held)
	if idle.Empty() {
		return undo, nil
	}
	undo()
	return nil, refuse(SMTAlignment, "the pod's exclusive CPUs would be parts of cores (CPUs %s, beside which %s would stay idle), and this node gives whole cores only (--full-cores); request a multiple of %d CPUs for each container, and with the policy spread for each NUMA node",
		held, idle, n.shape().ThreadsPerCore)
}

// heldBy returns all exclusive CPUs of a pod. Callers hold n.mu.
func (n *Node) heldBy(uid string) cpuset.Set {
	var held cpuset.Set
	for _, h := range n.mu.book.of(uid) {
		held = held.Union(h.Grant.CPUs())
	}
	return held
}
