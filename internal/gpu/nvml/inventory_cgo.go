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
	v := &gpu.Inventory{}
	var err error
	if v.Driver, v.CUDA, err = d.versions(); err != nil {
		return v, err
	}
	count, ret := d.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return v, fmt.Errorf("count GPUs: %w", ret)
	}
	var errs []error
	var handles []nvml.Device
	for index := range count {
		handle, card, err := d.readCard(index)
		if err != nil {
			errs = append(errs, fmt.Errorf("read GPU %d: %w", index, err))
			continue
		}
		handles, v.Cards = append(handles, handle), append(v.Cards, card)
		errs = append(errs, d.register(card.UUID, handle))
	}
	v.Links = d.links(handles, v.Cards)
	return v, errors.Join(errs...)
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

// readCard reads a card. Only its NUMA node and its size of memory may be unknown.
func (d *driver) readCard(index int) (nvml.Device, gpu.Card, error) {
	card := gpu.Card{Index: index}
	handle, ret := d.lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		return nil, card, fmt.Errorf("open: %w", ret)
	}
	if card.UUID, ret = handle.GetUUID(); ret != nvml.SUCCESS {
		return nil, card, fmt.Errorf("read UUID: %w", ret)
	}
	if card.Model, ret = handle.GetName(); ret != nvml.SUCCESS {
		return nil, card, fmt.Errorf("read model: %w", ret)
	}
	if card.MemoryBytes, ret = memorySize(handle); ret != nvml.SUCCESS {
		return nil, card, fmt.Errorf("read size of memory: %w", ret)
	}
	pci, ret := handle.GetPciInfo()
	if ret != nvml.SUCCESS {
		return nil, card, fmt.Errorf("read PCI address: %w", ret)
	}
	var err error
	if card.PCI, err = gpu.ParseAddress(text(pci.BusId[:])); err != nil {
		return nil, card, err
	}
	card.NUMA = d.numaNode(card.PCI, handle)
	card.MIG, card.Slices, err = migDevices(handle)
	return handle, card, err
}

// memorySize returns the bytes of a card's memory, and 0 for a card that shares the memory
// of the machine (GB10, in DGX Spark), where the driver does not support the query.
// https://docs.nvidia.com/dgx/dgx-spark/known-issues.html
func memorySize(handle nvml.Device) (uint64, nvml.Return) {
	memory, ret := handle.GetMemoryInfo()
	if ret == nvml.ERROR_NOT_SUPPORTED {
		return 0, nvml.SUCCESS
	}
	return memory.Total, ret
}

// text returns a zero-terminated string.
func text(chars []byte) string {
	before, _, _ := bytes.Cut(chars, []byte{0})
	return string(before)
}
