//go:build cgo

package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/pci"
	"github.com/numalet/numalet/pkg/topology"
)

// maxNodes is the maximum number of NUMA nodes of Linux (CONFIG_NODES_SHIFT 10).
const maxNodes = 1024

// numaNode returns the NUMA node of a GPU from the kernel. It queries the driver
// only if the kernel does not have the device: if the firmware does not report the
// node, the driver does not know it either.
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
