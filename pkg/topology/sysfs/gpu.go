package sysfs

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/topology"
)

// gpuMemory marks the NUMA nodes that are the memory of a GPU. On POWER with NVLink and on NVIDIA
// Grace, the NVIDIA driver adds such NUMA nodes and reports their IDs.
func (r *reader) gpuMemory(nodes []topology.Node) error {
	gpus, err := r.each("proc/driver/nvidia/gpus")
	if err != nil {
		return err
	}
	for _, gpu := range gpus {
		text, err := r.text(gpu + "/numa_status")
		if err != nil {
			return err
		}
		id, err := parseNUMAStatus(text)
		if err != nil {
			return fmt.Errorf("read %s/numa_status: %w", gpu, err)
		}
		for i := range nodes {
			if nodes[i].ID == id {
				nodes[i].GPU = path.Base(gpu)
			}
		}
	}
	return nil
}

// parseNUMAStatus returns the node ID in a line such as "Node: 255", or Unknown if there is no such
// line.
func parseNUMAStatus(text string) (topology.NodeID, error) {
	for line := range strings.Lines(text) {
		value, found := strings.CutPrefix(line, "Node:")
		if !found {
			continue
		}
		id, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return topology.Unknown, fmt.Errorf("%q is not a node", strings.TrimSpace(line))
		}
		return topology.NodeID(id), nil
	}
	return topology.Unknown, nil
}
