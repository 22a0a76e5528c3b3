//go:build cgo

package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/pci"
	"github.com/numalet/numalet/pkg/topology"
)

// maxNodes is the largest number of NUMA nodes that Linux supports
// (CONFIG_NODES_SHIFT=10).
const maxNodes = 1024

// numaNode returns the NUMA node of a GPU, which it reads from sysfs. It queries the
// driver only if sysfs does not have the device. If sysfs has the device without a NUMA
// node, the firmware does not report the NUMA node, and the driver does not know it
// either.
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
