//go:build cgo

package nvml

import (
	"encoding/binary"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/numalet/numalet/pkg/gpu/health"
)

// Probe asks a card for what only the card can tell. That it was reset shows in
// the count of memory errors, which starts anew.
func (d *driver) Probe(uuid string) health.Probe {
	card, ret := d.lib.DeviceGetHandleByUUID(uuid)
	if ret != nvml.SUCCESS {
		return health.Probe{Error: ret.Error()}
	}
	if _, ret := card.GetMemoryInfo(); ret != nvml.SUCCESS {
		return health.Probe{Error: ret.Error()}
	}
	p := health.Probe{Answers: true, Action: action(card)}
	if errors, ret := card.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); ret == nvml.SUCCESS {
		p.Reset = errors < d.errors[uuid]
		d.errors[uuid] = errors
	}
	return p
}

// action returns what the driver asks for, if it knows that field.
func action(card nvml.Device) health.Action {
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if ret := card.GetFieldValues(values); ret != nvml.SUCCESS || nvml.Return(values[0].NvmlReturn) != nvml.SUCCESS {
		return health.UnknownAction
	}
	told := health.NoAction + health.Action(binary.NativeEndian.Uint32(values[0].Value[:]))
	if told > health.RebootSystem {
		return health.UnknownAction
	}
	return told
}
