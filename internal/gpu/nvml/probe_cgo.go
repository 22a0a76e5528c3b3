//go:build cgo

package nvml

import (
	"encoding/binary"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/numalet/numalet/pkg/gpu/health"
)

// Probe queries the health of a GPU. If a GPU had memory errors, their number is zero again after a
// reset of the GPU. This is how Probe detects a reset.
func (d *driver) Probe(uuid string) health.Probe {
	gpu, ret := d.lib.DeviceGetHandleByUUID(uuid)
	if ret != nvml.SUCCESS {
		return health.Probe{Error: ret.Error()}
	}
	if _, ret := memorySize(gpu); ret != nvml.SUCCESS {
		return health.Probe{Error: ret.Error()}
	}
	p := health.Probe{Answers: true, Action: action(gpu)}
	if errors, ret := gpu.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); ret == nvml.SUCCESS {
		p.Reset = errors < d.MemoryErrors[uuid]
		d.MemoryErrors[uuid] = errors
	}
	return p
}

// action returns the recovery action that the driver recommends for a GPU. It
// returns UnknownAction if the driver does not report an action, or reports one
// that package health does not know.
func action(gpu nvml.Device) health.Action {
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if ret := gpu.GetFieldValues(values); ret != nvml.SUCCESS || nvml.Return(values[0].NvmlReturn) != nvml.SUCCESS {
		return health.UnknownAction
	}
	a := health.NoAction + health.Action(binary.NativeEndian.Uint32(values[0].Value[:]))
	if a > health.RebootSystem {
		return health.UnknownAction
	}
	return a
}
