package sysfs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

const nodeDir = "sys/devices/system/node"

// nodes returns the online NUMA nodes. If the kernel has no NUMA support and reports none, the
// whole machine is NUMA node 0, as in lstopo.
func (r *reader) nodes(online cpuset.Set) ([]topology.Node, error) {
	ids, err := r.nodeIDs()
	if err != nil {
		return nil, err
	}
	present, err := r.present(ids)
	if err != nil {
		return nil, err
	}
	if len(present) == 0 {
		return r.wholeMachine(online)
	}
	var nodes []topology.Node
	var listed cpuset.Set
	for _, id := range present {
		n, err := r.node(id, ids)
		if err != nil {
			return nil, err
		}
		n.CPUs = n.CPUs.Intersect(online)
		listed = listed.Union(n.CPUs)
		nodes = append(nodes, n)
	}
	if rest := online.Minus(listed); !rest.Empty() {
		r.note("CPUs %s are in no NUMA node", rest)
	}
	r.separate(nodes)
	return nodes, nil
}

// separate ensures that each CPU is in only one NUMA node. If several nodes list a CPU, the CPU
// stays in the node with the fewest CPUs, because this node says most precisely where the CPU is.
// If several of these nodes have equally few CPUs, the CPU stays in the first of them. Nodes can
// have common CPUs on emulated machines, with faulty firmware, or if a node for a special kind of
// memory lists CPUs of other nodes. lstopo instead ignores every node that overlaps an earlier
// node, so that some CPUs are in no node.
func (r *reader) separate(nodes []topology.Node) {
	bySize := make([]*topology.Node, len(nodes))
	for i := range nodes {
		bySize[i] = &nodes[i]
	}
	slices.SortStableFunc(bySize, func(a, b *topology.Node) int { return cmp.Compare(a.CPUs.Len(), b.CPUs.Len()) })
	var taken, several cpuset.Set
	for _, n := range bySize {
		several = several.Union(n.CPUs.Intersect(taken))
		n.CPUs, taken = n.CPUs.Minus(taken), taken.Union(n.CPUs)
	}
	if !several.Empty() {
		r.note("CPUs %s are in several NUMA nodes: each is taken for one of the smallest of these", several)
	}
}

// present returns those of the online NUMA nodes that have a directory. It adds a note if some have
// none.
func (r *reader) present(online []topology.NodeID) ([]topology.NodeID, error) {
	numbers, err := r.numbered(nodeDir, "node")
	var present, absent []topology.NodeID
	for _, id := range online {
		if slices.Contains(numbers, int(id)) {
			present = append(present, id)
		} else {
			absent = append(absent, id)
		}
	}
	switch {
	case len(absent) == 0:
	case len(present) == 0:
		r.note("none of the online nodes %v has a directory: taken for a machine without NUMA", absent)
	default:
		r.note("the online nodes %v have no directory: left out", absent)
	}
	return present, err
}

// nodeIDs returns the IDs of the online NUMA nodes in ascending order. It reads the file "online".
// If this file is missing, it lists the directories of nodes, because only online nodes have one.
func (r *reader) nodeIDs() ([]topology.NodeID, error) {
	online, found, err := r.list(nodeDir + "/online")
	if err != nil {
		return nil, err
	}
	if found {
		return asNodes(online), nil
	}
	numbers, err := r.numbered(nodeDir, "node")
	var ids []topology.NodeID
	for _, n := range numbers {
		ids = append(ids, topology.NodeID(n))
	}
	return ids, err
}

// asNodes converts a set to node IDs. Lists of nodes have the same format as lists of CPUs, so they
// are parsed as sets of CPUs.
func asNodes(set cpuset.Set) []topology.NodeID {
	var ids []topology.NodeID
	for n := range set.All() {
		ids = append(ids, topology.NodeID(n))
	}
	return ids
}

func (r *reader) node(id topology.NodeID, online []topology.NodeID) (numaNode topology.Node, err error) {
	dir := fmt.Sprintf("%s/node%d", nodeDir, id)
	numaNode.ID = id
	found := false
	if numaNode.CPUs, found, err = r.maskOrList(dir+"/cpumap", dir+"/cpulist"); err != nil {
		return numaNode, err
	}
	if !found {
		r.note("node%d does not list its CPUs: taken for a node without CPUs", id)
	}
	if numaNode.MemoryBytes, err = r.memTotal(dir + "/meminfo"); err != nil {
		return numaNode, err
	}
	if numaNode.HugePages, err = r.hugePages(dir + "/hugepages"); err != nil {
		return numaNode, err
	}
	numaNode.Distances, err = r.distances(id, online)
	return numaNode, err
}

func (r *reader) wholeMachine(online cpuset.Set) ([]topology.Node, error) {
	memory, err := r.memTotal("proc/meminfo")
	if err != nil {
		return nil, err
	}
	pages, err := r.hugePages("sys/kernel/mm/hugepages")
	return []topology.Node{{
		CPUs: online, MemoryBytes: memory, HugePages: pages,
		Distances: map[topology.NodeID]int{0: 10},
	}}, err
}
