//go:build cgo

package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/pci"
	"github.com/numalet/numalet/pkg/topology"
)

// maxNodes is what the kernel numbers NUMA nodes up to (CONFIG_NODES_SHIFT 10).
const maxNodes = 1024

// numaNode returns the NUMA node that the kernel has a card on. The driver is
// asked only where the kernel knows no such device: of one whose node the
// firmware does not tell, the driver knows no better.
func (d *driver) numaNode(address gpu.Address, handle nvml.Device) topology.NodeID {
	node, known, _ := pci.Node(d.Machine, address)
	if known || d.lib.Extensions().LookupSymbol("nvmlDeviceGetMemoryAffinity") != nil {
		return node
	}
	mask, ret := handle.GetMemoryAffinity(maxNodes, nvml.AFFINITY_SCOPE_NODE)
	if ret != nvml.SUCCESS {
		return topology.Unknown
	}
	return onlyNode(mask)
}
