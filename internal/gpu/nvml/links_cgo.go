//go:build cgo

package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/numalet/numalet/pkg/gpu"
)

// links returns the links between the GPUs. A link that the driver does not report is unknown. For
// each pair of GPUs, the method calls NVML once to read the PCIe connection. For each NVLink of
// each GPU, it calls NVML a few times. A GPU has up to 18 NVLinks.
func (d *driver) links(handles []nvml.Device, gpus []gpu.GPU) gpu.Links {
	direct, switched := make([]map[gpu.Address]int, len(gpus)), make([]int, len(gpus))
	for i := range handles {
		direct[i], switched[i] = nvlinks(handles[i])
	}
	table := make(gpu.Links, len(gpus))
	for a := range gpus {
		table[a] = make([]gpu.Link, len(gpus))
	}
	for a := range gpus {
		for b := range a {
			link := gpu.Link{
				NVLinks: direct[a][gpus[b].PCI] + min(switched[a], switched[b]),
				Level:   d.level(handles[a], handles[b]),
			}
			table[a][b], table[b][a] = link, link
		}
	}
	return table
}

// nvlinks counts the active NVLinks of a GPU. The map `direct` has the number of links to
// every other GPU, by the PCI address of that GPU. The result `switched` is the number of
// links to NVSwitches. NVSwitches connect all GPUs that have links to them.
func nvlinks(device nvml.Device) (direct map[gpu.Address]int, switched int) {
	direct = map[gpu.Address]int{}
	for link := range nvml.NVLINK_MAX_LINKS {
		if state, ret := device.GetNvLinkState(link); ret != nvml.SUCCESS || state != nvml.FEATURE_ENABLED {
			continue
		}
		if kind, ret := device.GetNvLinkRemoteDeviceType(link); ret == nvml.SUCCESS && kind == nvml.NVLINK_DEVICE_TYPE_SWITCH {
			switched++
			continue
		}
		pci, ret := device.GetNvLinkRemotePciInfo(link)
		if ret != nvml.SUCCESS {
			continue
		}
		if address, err := gpu.ParseAddress(text(pci.BusId[:])); err == nil {
			direct[address]++
		}
	}
	return direct, switched
}

func (d *driver) level(a, b nvml.Device) gpu.Level {
	level, ret := d.lib.DeviceGetTopologyCommonAncestor(a, b)
	if ret != nvml.SUCCESS {
		return gpu.UnknownLevel
	}
	return map[nvml.GpuTopologyLevel]gpu.Level{
		nvml.TOPOLOGY_INTERNAL: gpu.Internal, nvml.TOPOLOGY_SINGLE: gpu.Single, nvml.TOPOLOGY_MULTIPLE: gpu.Multiple,
		nvml.TOPOLOGY_HOSTBRIDGE: gpu.HostBridge, nvml.TOPOLOGY_NODE: gpu.Node, nvml.TOPOLOGY_SYSTEM: gpu.System,
	}[level]
}
