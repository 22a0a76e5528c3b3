package node

import (
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/workload"
)

// holdUnconfirmed grants a pinned container the CPUs on which it runs, if its pod is not known.
// That happens if the checkpoint was lost while the API server cannot be reached. Only the
// container's spec says that it has exclusive CPUs, so the grant is unconfirmed until the pod is
// known. holdUnconfirmed returns false if another container holds one of the CPUs.
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

// dropUnconfirmed drops the unconfirmed grant of a container whose pod is known now, so that adopt
// makes a new grant from the pod's request.
func (n *Node) dropUnconfirmed(c workload.Container) {
	grant := key(c.Sandbox.Pod.UID, c.Name)
	if n.mu.book.held[grant].Unconfirmed {
		n.mu.book.dropGrant(grant)
	}
}
