//go:build cgo

package nvml

import (
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/numalet/numalet/pkg/gpu"
)

// migDevices reports whether a GPU is in MIG mode, and returns its MIG devices in the
// driver's order. If the GPU or the driver does not support MIG, it returns none and no
// error.
func migDevices(device nvml.Device) (mig bool, _ []gpu.Slice, _ error) {
	current, _, ret := device.GetMigMode()
	if ret == nvml.ERROR_NOT_SUPPORTED || ret == nvml.ERROR_FUNCTION_NOT_FOUND {
		return false, nil, nil
	}
	if ret != nvml.SUCCESS {
		return false, nil, fmt.Errorf("read MIG mode: %w", ret)
	}
	if current != nvml.DEVICE_MIG_ENABLE {
		return false, nil, nil
	}
	count, ret := device.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		return true, nil, fmt.Errorf("count MIG devices: %w", ret)
	}
	var all []gpu.Slice
	for i := range count {
		handle, ret := device.GetMigDeviceHandleByIndex(i)
		if ret == nvml.ERROR_NOT_FOUND {
			continue
		}
		if ret != nvml.SUCCESS {
			return true, nil, fmt.Errorf("open MIG device %d: %w", i, ret)
		}
		slice, err := readSlice(handle)
		if err != nil {
			return true, nil, fmt.Errorf("read MIG device %d: %w", i, err)
		}
		all = append(all, slice)
	}
	return true, all, nil
}

func readSlice(handle nvml.Device) (s gpu.Slice, err error) {
	var ret nvml.Return
	if s.UUID, ret = handle.GetUUID(); ret != nvml.SUCCESS {
		return s, fmt.Errorf("read UUID: %w", ret)
	}
	if s.GPUInstance, ret = handle.GetGpuInstanceId(); ret != nvml.SUCCESS {
		return s, fmt.Errorf("read GPU instance: %w", ret)
	}
	if s.ComputeInstance, ret = handle.GetComputeInstanceId(); ret != nvml.SUCCESS {
		return s, fmt.Errorf("read compute instance: %w", ret)
	}
	name, ret := handle.GetName()
	if ret != nvml.SUCCESS {
		return s, fmt.Errorf("read name: %w", ret)
	}
	if s.Profile, err = profile(name); err != nil {
		return s, err
	}
	memory, ret := handle.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return s, fmt.Errorf("read size of memory: %w", ret)
	}
	s.MemoryBytes = memory.Total
	return s, nil
}

// profile returns the MIG profile, which is the end of the name of a MIG device:
// "1g.10gb" of "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
func profile(name string) (string, error) {
	_, profile, found := strings.Cut(name, " MIG ")
	if !found || profile == "" {
		return "", fmt.Errorf("parse the name %q of a MIG device: it has no profile after \" MIG \"", name)
	}
	return profile, nil
}
