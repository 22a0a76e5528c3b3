package sysfs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

const nodeDir = "sys/devices/system/node"

// nodes returns the online NUMA nodes. A kernel without NUMA shows none: its
// machine is one node 0 that has everything. Where firmware lets nodes overlap,
// the first keeps its CPUs and the others have none. lstopo does both likewise.
func (r *reader) nodes(online cpuset.Set) ([]topology.Node, error) {
	ids, err := r.nodeIDs()
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return r.wholeMachine(online)
	}
	var nodes []topology.Node
	var claimed cpuset.Set
	for _, id := range ids {
		n, err := r.node(id, ids)
		if err != nil {
			return nil, err
		}
		if n.CPUs.Overlaps(claimed) {
			r.note("node%d lists CPUs of a node before it (%s): taken for a node without CPUs", id, n.CPUs.Intersect(claimed))
			n.CPUs = cpuset.Set{}
		}
		claimed = claimed.Union(n.CPUs)
		n.CPUs = n.CPUs.Intersect(online)
		nodes = append(nodes, n)
	}
	if homeless := online.Minus(claimed); !homeless.Empty() {
		r.note("CPUs %s are in no NUMA node", homeless)
	}
	return nodes, nil
}

// nodeIDs returns the ids of the online nodes, ascending. Offline nodes have no
// directory, so that without the list the directories tell.
func (r *reader) nodeIDs() ([]topology.NodeID, error) {
	online, told, err := r.list(nodeDir + "/online")
	if err != nil {
		return nil, err
	}
	if told {
		return asNodes(online), nil
	}
	numbers, err := r.numbered(nodeDir, "node")
	var ids []topology.NodeID
	for _, n := range numbers {
		ids = append(ids, topology.NodeID(n))
	}
	return ids, err
}

// asNodes turns a list of nodes, which has the format of a list of CPUs, into ids.
func asNodes(set cpuset.Set) []topology.NodeID {
	var ids []topology.NodeID
	for n := range set.All() {
		ids = append(ids, topology.NodeID(n))
	}
	return ids
}

func (r *reader) node(id topology.NodeID, online []topology.NodeID) (n topology.Node, err error) {
	dir := fmt.Sprintf("%s/node%d", nodeDir, id)
	n.ID = id
	told := false
	if n.CPUs, told, err = r.maskOrList(dir+"/cpumap", dir+"/cpulist"); err != nil {
		return n, err
	}
	if !told {
		r.note("node%d does not list its CPUs: taken for a node without CPUs", id)
	}
	if n.MemoryBytes, err = r.memTotal(dir + "/meminfo"); err != nil {
		return n, err
	}
	if n.HugePages, err = r.hugePages(dir + "/hugepages"); err != nil {
		return n, err
	}
	n.Distances, err = r.distances(id, online)
	return n, err
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

// distances returns a node's row of the distance table. The row has no ids: it
// is positional over the online nodes in ascending order (node_read_distance in
// https://github.com/torvalds/linux/blob/master/drivers/base/node.c), over all
// possible ones where firmware took a node offline. A row of another length
// cannot be read and becomes a note.
func (r *reader) distances(id topology.NodeID, online []topology.NodeID) (map[topology.NodeID]int, error) {
	name := fmt.Sprintf("%s/node%d/distance", nodeDir, id)
	text, err := r.text(name)
	if err != nil || text == "" {
		return nil, err
	}
	row, err := parseDistances(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	possible, _, err := r.list(nodeDir + "/possible")
	if err != nil {
		return nil, err
	}
	for _, columns := range [][]topology.NodeID{online, asNodes(possible)} {
		if len(columns) == len(row) {
			return label(row, columns, online), nil
		}
	}
	r.note("node%d tells %d distances where %d nodes are online: its distances are unknown", id, len(row), len(online))
	return nil, nil
}

// label names the columns of a row and drops those of nodes that are offline.
func label(row []int, columns, online []topology.NodeID) map[topology.NodeID]int {
	distances := map[topology.NodeID]int{}
	for i, to := range columns {
		if slices.Contains(online, to) {
			distances[to] = row[i]
		}
	}
	return distances
}

// parseDistances reads one row, "10 21 31".
func parseDistances(text string) ([]int, error) {
	var row []int
	for field := range strings.FieldsSeq(text) {
		n, err := strconv.ParseUint(field, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("parse distances %q: %q is not a distance", text, field)
		}
		row = append(row, int(n))
	}
	return row, nil
}
