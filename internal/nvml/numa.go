package nvml

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// errUntold says that sysfs has no such PCI device.
var errUntold = errors.New("sysfs has no such device")

// sysfsNode returns the NUMA node that the kernel has a PCI device on, where -1
// means that the firmware did not say.
// https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci
func sysfsNode(machine fs.FS, address gpu.Address) (topology.NodeID, error) {
	path := fmt.Sprintf("sys/bus/pci/devices/%s/numa_node", address)
	content, err := fs.ReadFile(machine, path)
	if errors.Is(err, fs.ErrNotExist) {
		return topology.Unknown, errUntold
	}
	if err != nil {
		return topology.Unknown, fmt.Errorf("read NUMA node of GPU: %w", err)
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return topology.Unknown, fmt.Errorf("read NUMA node of GPU: %s: %w", path, err)
	}
	if id < 0 {
		return topology.Unknown, nil
	}
	return topology.NodeID(id), nil
}

// onlyNode returns the one node that a bit mask names, else Unknown.
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
