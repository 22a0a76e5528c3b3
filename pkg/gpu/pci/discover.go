// Package pci finds NVIDIA's GPUs in sysfs and procfs, without NVIDIA's management
// library (NVML).
//
// The package reads the PCI devices in sysfs, and the files of NVIDIA's kernel driver
// in /proc. It does not report what only NVML knows: the index of a GPU, its memory,
// its MIG slices and its health.
//
//	v, err := pci.Discover(os.DirFS("/"))
package pci

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

const (
	devices = "sys/bus/pci/devices"
	drivers = "proc/driver/nvidia/gpus"

	nvidia  = "0x10de" // vendor
	display = "0x03"   // base class: VGA, 3D and other controllers
)

// Discover returns the GPUs of the machine whose files are in `root`, ordered by PCI
// address. The Index of a GPU is topology.Unknown. Its UUID is empty if NVIDIA's driver
// does not report it.
// https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci
func Discover(root fs.FS) (*gpu.Inventory, error) {
	inventory := &gpu.Inventory{}
	entries, err := fs.ReadDir(root, devices)
	if errors.Is(err, fs.ErrNotExist) {
		return inventory, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list PCI devices: %w", err)
	}
	for _, e := range entries {
		d := device{root, e.Name()}
		is, err := d.isGPU()
		if err != nil {
			return nil, err
		}
		if !is {
			continue
		}
		g, err := d.gpu()
		if err != nil {
			return nil, err
		}
		inventory.GPUs = append(inventory.GPUs, g)
	}
	return inventory, nil
}

// Files returns the paths of the files that Discover reads, so that a copy of them can
// be made. It leaves out the files of NVIDIA's driver, because they contain the unique
// IDs of the GPUs.
func Files(root fs.FS) ([]string, error) {
	v, err := Discover(root)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, gpu := range v.GPUs {
		for _, name := range []string{"class", "vendor", "device", "numa_node"} {
			file := path.Join(devices, string(gpu.PCI), name)
			if _, err := fs.Stat(root, file); err == nil {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// device is one PCI device.
type device struct {
	root    fs.FS
	address string
}

// isGPU reports whether the device is a display controller of NVIDIA. A device without a vendor
// file counts as a device of NVIDIA if NVIDIA's driver lists it.
func (d device) isGPU() (bool, error) {
	class, err := d.file(devices, "class")
	if err != nil || !strings.HasPrefix(class, display) {
		return false, err
	}
	vendor, err := d.file(devices, "vendor")
	if err != nil || vendor != "" {
		return vendor == nvidia, err
	}
	_, err = fs.Stat(d.root, path.Join(drivers, d.address))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (d device) gpu() (g gpu.GPU, err error) {
	g.Index = topology.Unknown
	if g.PCI, err = gpu.ParseAddress(d.address); err != nil {
		return g, err
	}
	if g.NUMA, _, err = Node(d.root, g.PCI); err != nil {
		return g, err
	}
	information, err := d.file(drivers, "information")
	if err != nil {
		return g, err
	}
	g.UUID, g.Model = uuid(information), field(information, "Model")
	if g.Model == "" {
		g.Model, err = d.pciID()
	}
	return g, err
}

// Node returns the NUMA node of a PCI device. It is topology.Unknown if the firmware does
// not report it; the kernel then writes -1. The result `known` is false if the device has
// no file numa_node, for example because there is no such device.
// https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci
func Node(root fs.FS, address gpu.Address) (node topology.NodeID, known bool, err error) {
	content, err := fs.ReadFile(root, path.Join(devices, string(address), "numa_node"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return topology.Unknown, false, nil
	case err != nil:
		return topology.Unknown, true, fmt.Errorf("read NUMA node of PCI device %s: %w", address, err)
	}
	text := strings.TrimSpace(string(content))
	if text == "" {
		return topology.Unknown, true, nil
	}
	id, err := strconv.Atoi(text)
	if err != nil {
		return topology.Unknown, true, fmt.Errorf("read NUMA node of PCI device %s: %w", address, err)
	}
	return topology.NodeID(max(id, topology.Unknown)), true, nil
}

// pciID returns the device's vendor and device ID in the format of lspci, such as
// "10de:20b2". It is used if the driver does not report the model of a GPU.
func (d device) pciID() (string, error) {
	number, err := d.file(devices, "device")
	if err != nil || number == "" {
		return "", err
	}
	return strings.TrimPrefix(nvidia, "0x") + ":" + strings.TrimPrefix(number, "0x"), nil
}

// file returns the content of a file of the device without surrounding white space, or
// "" if the file does not exist.
func (d device) file(dir, name string) (string, error) {
	content, err := fs.ReadFile(d.root, path.Join(dir, d.address, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read PCI device %s: %w", d.address, err)
	}
	return strings.TrimSpace(string(content)), nil
}

// uuid returns the GPU's UUID in the driver's information file. It returns "" if the
// driver does not know the UUID yet and writes question marks.
func uuid(information string) string {
	if id := field(information, "GPU UUID"); !strings.Contains(id, "?") {
		return id
	}
	return ""
}

// field returns the value of the line "name: value", or "".
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
