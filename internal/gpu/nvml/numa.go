package nvml

import (
	"strconv"

	"github.com/numalet/numalet/pkg/topology"
)

// onlyNode returns the node in a bit mask of one node, else Unknown.
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
