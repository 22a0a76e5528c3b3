//go:build cgo

package nvml

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/numalet/numalet/pkg/gpu"
)

func (d *driver) Inventory() (*gpu.Inventory, error) {
	inventory := &gpu.Inventory{}
	var err error
	if inventory.Driver, inventory.CUDA, err = d.versions(); err != nil {
		return inventory, err
	}
	count, ret := d.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return inventory, fmt.Errorf("count GPUs: %w", ret)
	}
	var errs []error
	var handles []nvml.Device
	for index := range count {
		handle, device, err := d.readGPU(index)
		if err != nil {
			errs = append(errs, fmt.Errorf("read GPU %d: %w", index, err))
			continue
		}
		handles, inventory.GPUs = append(handles, handle), append(inventory.GPUs, device)
		errs = append(errs, d.register(device.UUID, handle))
	}
	inventory.Links = d.links(handles, inventory.GPUs)
	return inventory, errors.Join(errs...)
}

func (d *driver) versions() (driver, cuda string, err error) {
	driver, ret := d.lib.SystemGetDriverVersion()
	if ret != nvml.SUCCESS {
		return "", "", fmt.Errorf("read the version of the driver: %w", ret)
	}
	number, ret := d.lib.SystemGetCudaDriverVersion()
	if ret != nvml.SUCCESS {
		return "", "", fmt.Errorf("read the version of CUDA: %w", ret)
	}
	return driver, fmt.Sprintf("%d.%d", number/1000, number%1000/10), nil
}

// readGPU reads a GPU. The NUMA node stays unknown if the driver does not know it. The
// memory size stays unknown if the driver does not support the query for it. It is an
// error if any other value cannot be read.
func (d *driver) readGPU(index int) (nvml.Device, gpu.GPU, error) {
	device := gpu.GPU{Index: index}
	handle, ret := d.lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		return nil, device, fmt.Errorf("open: %w", ret)
	}
	if device.UUID, ret = handle.GetUUID(); ret != nvml.SUCCESS {
		return nil, device, fmt.Errorf("read UUID: %w", ret)
	}
	if device.Model, ret = handle.GetName(); ret != nvml.SUCCESS {
		return nil, device, fmt.Errorf("read model: %w", ret)
	}
	if device.MemoryBytes, ret = memorySize(handle); ret != nvml.SUCCESS {
		return nil, device, fmt.Errorf("read size of memory: %w", ret)
	}
	pci, ret := handle.GetPciInfo()
	if ret != nvml.SUCCESS {
		return nil, device, fmt.Errorf("read PCI address: %w", ret)
	}
	var err error
	if device.PCI, err = gpu.ParseAddress(text(pci.BusId[:])); err != nil {
		return nil, device, err
	}
	device.NUMA = d.numaNode(device.PCI, handle)
	device.MIG, device.Slices, err = migDevices(handle)
	return handle, device, err
}

// memorySize returns the size of a GPU's memory in bytes. It returns 0 if the driver
// does not support the query. The driver does not support it for GPUs that use the
// memory of the machine, such as GB10 in DGX Spark.
// https://docs.nvidia.com/dgx/dgx-spark/known-issues.html
func memorySize(handle nvml.Device) (uint64, nvml.Return) {
	memory, ret := handle.GetMemoryInfo()
	if ret == nvml.ERROR_NOT_SUPPORTED {
		return 0, nvml.SUCCESS
	}
	return memory.Total, ret
}

// text returns the string in a zero-terminated array of bytes.
func text(chars []byte) string {
	before, _, _ := bytes.Cut(chars, []byte{0})
	return string(before)
}
