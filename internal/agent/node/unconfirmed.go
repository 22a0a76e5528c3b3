package node

import (
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/workload"
)

// holdUnconfirmed grants a pinned container the CPUs on which it runs. It is called if the agent
// does not know the container's pod, for example because the checkpoint file was lost and the API
// server cannot be reached. In this case, only the container's spec says which exclusive CPUs the
// container has. So the grant is unconfirmed until the agent knows the pod. holdUnconfirmed returns
// false if the ledger cannot grant the CPUs, for example because another grant has one of them.
func (n *Node) holdUnconfirmed(c workload.Container) bool {
	claim := pool.Claim{Container: c.Name, Kind: podspec.App, CPUs: c.Resources.CPUs, Mems: c.Resources.Mems}
	if len(claim.Mems) > 0 {
		claim.MemoryBytes = uint64(max(c.Resources.MemoryBytes, 0))
	}
	s := c.Sandbox
	return n.mu.book.restore(Held{
		Pod: s.Pod, Cgroup: s.PodCgroup, Static: isStatic(s), Unconfirmed: true, Isolated: isolates(s),
		Grant: pool.Grant{UID: key(s.Pod.UID, c.Name), Claims: []pool.Claim{claim}},
	}) == nil
}

// dropUnconfirmed drops the unconfirmed grant of a container whose pod the agent knows now. The
// method `adopt` then makes a new grant from the pod's request.
func (n *Node) dropUnconfirmed(c workload.Container) {
	grant := key(c.Sandbox.Pod.UID, c.Name)
	if n.mu.book.held[grant].Unconfirmed {
		n.mu.book.dropGrant(grant)
	}
}
