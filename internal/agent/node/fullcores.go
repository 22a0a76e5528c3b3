package node

import (
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/workload"
)

// reserveWholeCores calls reserve for a pod that no controller placed. With --full-cores it refuses
// a pod that would hold a part of a core, like the kubelet's option full-pcpus-only. The rest of
// such a core would stay idle. The kubelet counts single CPUs, so it would admit another pod for
// that rest, and this pod could never start. The controller counts whole cores, so the pods that it
// placed may hold parts of cores. It would not help if the device plugin published fewer CPUs,
// because a plugin cannot change the kubelet's own count of CPUs. Callers hold the lock.
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

// heldBy returns all exclusive CPUs of a pod. Callers hold the lock.
func (n *Node) heldBy(uid string) cpuset.Set {
	var held cpuset.Set
	for _, h := range n.mu.book.of(uid) {
		held = held.Union(h.Grant.CPUs())
	}
	return held
}
