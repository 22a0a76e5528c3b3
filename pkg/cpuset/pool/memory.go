package pool

import (
	"slices"

	"github.com/numalet/numalet/pkg/topology"
)

// nearestMemory returns the NUMA nodes with memory that are closest to the NUMA node with this ID.
// (Huge pages do not count as memory here.) If this NUMA node has memory itself, it is the only
// result. Otherwise there may be several NUMA nodes at the same distance.
func nearestMemory(m *topology.Machine, id topology.NodeID) []topology.NodeID {
	var nearest []topology.NodeID
	best := 0
	for _, n := range m.Nodes {
		if ordinary(n) == 0 {
			continue
		}
		d := distance(m, id, n.ID)
		if len(nearest) == 0 || d < best {
			nearest, best = nil, d
		}
		if d == best {
			nearest = append(nearest, n.ID)
		}
	}
	return nearest
}

// Distances as in the ACPI SLIT, the firmware's table of distances between NUMA nodes.
// localDistance is the distance of a NUMA node to itself. The constant `unreachable` is the
// distance of two NUMA nodes for which the table has no distance.
const (
	localDistance = 10
	unreachable   = 255
)

func distance(m *topology.Machine, from, to topology.NodeID) int {
	if from == to {
		return 0 // less than all other distances: local memory is preferred even if the firmware's table of distances is wrong
	}
	if n := m.Node(from); n != nil {
		if d, ok := n.Distances[to]; ok {
			return max(d, localDistance)
		}
	}
	return unreachable
}

// ordinary returns how many bytes of memory the node has without its huge pages. Huge pages are
// left out because a container's memory limit does not include them.
func ordinary(n topology.Node) uint64 {
	bytes := n.MemoryBytes
	for _, p := range n.HugePages {
		bytes -= min(bytes, p.SizeBytes*p.Total)
	}
	return bytes
}

// bindable returns how many bytes of a NUMA node's memory all containers together can bind.
func (l *layout) bindable(n topology.Node) uint64 {
	bytes := ordinary(n)
	return bytes - min(bytes, n.KernelReserved+l.reservedMemory[n.ID])
}

// AllocatableMemory returns what AvailableMemory would return if no pod held CPUs or memory.
func (l *Ledger) AllocatableMemory() map[topology.NodeID]uint64 {
	all := make(map[topology.NodeID]uint64, len(l.layout.nodes))
	for _, n := range l.layout.nodes {
		all[n.id] = l.layout.freeMemory(n.mems)
	}
	return all
}

// AvailableMemory returns, for each NUMA node with CPUs, how many bytes new containers on these
// CPUs can bind. Such containers bind the memory nearest to the NUMA node.
func (l *Ledger) AvailableMemory() map[topology.NodeID]uint64 {
	left := make(map[topology.NodeID]uint64, len(l.layout.nodes))
	for _, n := range l.layout.nodes {
		left[n.id] = l.layout.freeMemory(n.mems, l.claims()...)
	}
	return left
}

// claims returns, for each pod, the Claims of its containers: the CPUs and the memory that each
// container holds. The order of the pods is arbitrary.
func (l *Ledger) claims() [][]Claim {
	pods := make([][]Claim, 0, len(l.grants)+1)
	for _, g := range l.grants {
		pods = append(pods, g.Claims)
	}
	return pods
}

// freeMemory returns how many bytes of the memory of the given NUMA nodes are left for new
// containers, if the containers of the given pods bind what their Claims say. A container that
// binds memory of several NUMA nodes counts in full on each of them, because the kernel may
// allocate the pages on any of them.
func (l *layout) freeMemory(nodes []topology.NodeID, pods ...[]Claim) uint64 {
	free := uint64(0)
	for _, n := range l.memory {
		if slices.Contains(nodes, n.ID) {
			free += l.bindable(n)
		}
	}
	for _, claims := range pods {
		free -= min(free, peak(claims, func(c Claim) uint64 {
			if slices.ContainsFunc(c.Mems, func(id topology.NodeID) bool { return slices.Contains(nodes, id) }) {
				return c.MemoryBytes
			}
			return 0
		}))
	}
	return free
}
