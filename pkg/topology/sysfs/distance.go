package sysfs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/topology"
)

// distances returns the distances from a NUMA node to the online NUMA nodes. The node's file
// "distance" has a row of numbers without IDs. They are the distances to the online nodes, in
// ascending order of the nodes' IDs (node_read_distance in
// https://github.com/torvalds/linux/blob/master/drivers/base/node.c). A row with one number for
// each possible node (a node that is or could come online) is accepted, too: the numbers are then
// taken for the distances to all possible nodes. If the row is of any other length, the method
// returns nil and adds a note.
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

// label makes a map from node ID to distance. The number row[i] is the distance to the node with
// the ID columns[i]. Distances to offline nodes are left out.
func label(row []int, columns, online []topology.NodeID) map[topology.NodeID]int {
	distances := map[topology.NodeID]int{}
	for i, to := range columns {
		if slices.Contains(online, to) {
			distances[to] = row[i]
		}
	}
	return distances
}

// parseDistances parses a row of distances, such as "10 21 31".
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
