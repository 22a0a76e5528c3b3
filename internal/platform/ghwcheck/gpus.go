package ghwcheck

import (
	"fmt"

	"github.com/jaypipes/ghw"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// nvidia is the PCI vendor ID of NVIDIA.
const nvidia = "10de"

// graphics is a GPU as ghw reports it.
type graphics struct {
	address string
	vendor  string
	node    topology.NodeID // Unknown if ghw does not report it
}

// GPUDifferences compares the inventory of NVIDIA's GPUs with the GPUs that ghw reports for
// the machine with the given root directory. It returns one sentence for each difference. A
// GPU of the inventory that ghw does not report is not a difference, because ghw finds only
// GPUs with a graphics driver.
func GPUDifferences(inventory *gpu.Inventory, root string) []string {
	info, err := ghw.GPU(ghw.WithChroot(root), ghw.WithDisableTools(), ghw.WithDisableWarnings())
	if err != nil {
		return []string{fmt.Sprintf("ghw cannot list this machine's GPUs (%v): the GPUs are unchecked", err)}
	}
	var gpus []graphics
	for _, c := range info.GraphicsCards {
		device := graphics{address: c.Address, node: topology.Unknown}
		if c.DeviceInfo != nil && c.DeviceInfo.Vendor != nil {
			device.vendor = c.DeviceInfo.Vendor.ID
		}
		if c.Node != nil {
			device.node = topology.NodeID(c.Node.ID)
		}
		gpus = append(gpus, device)
	}
	return compareGPUs(inventory, gpus)
}

func compareGPUs(inventory *gpu.Inventory, gpus []graphics) []string {
	byAddress := map[gpu.Address]gpu.GPU{}
	for _, c := range inventory.GPUs {
		byAddress[c.PCI] = c
	}
	var differences []string
	for _, c := range gpus {
		address, err := gpu.ParseAddress(c.address)
		if err != nil || c.vendor != nvidia {
			continue
		}
		device, known := byAddress[address]
		switch {
		case !known:
			differences = append(differences, fmt.Sprintf("ghw sees an NVIDIA GPU at %s, of which the driver does not tell", address))
		case c.node != topology.Unknown && c.node != device.NUMA:
			differences = append(differences, fmt.Sprintf("ghw sees the GPU at %s on NUMA node %d, sysfs or the driver on %d", address, c.node, device.NUMA))
		}
	}
	return differences
}
