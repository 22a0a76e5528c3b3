package nvml

import (
	"strconv"

	"github.com/numalet/numalet/pkg/topology"
)

// onlyNode returns the NUMA node whose bit is set in the mask, or Unknown if not
// exactly one bit is set.
func onlyNode(mask []uint) topology.NodeID {
	var node topology.NodeID = topology.Unknown
	for word, bits := range mask {
		for bit := range strconv.IntSize {
			if bits>>bit&1 == 0 {
				continue
			}
			if node != topology.Unknown {
				return topology.Unknown
			}
			node = topology.NodeID(word*strconv.IntSize + bit)
		}
	}
	return node
}
