package health

import (
	"fmt"
)

// Kind is the type of an event.
type Kind uint8

// The kinds.
const (
	Xid         Kind = iota // nvmlEventTypeXidCriticalError; Event.Xid is its number
	DoubleBit               // nvmlEventTypeDoubleBitEccError: memory content was lost
	Unavailable             // nvmlEventTypeGpuUnavailableError
)

// Event is an event of a GPU, reported by the driver.
type Event struct {
	GPU      string // UUID
	Kind     Kind
	Xid      uint64
	Instance Instance
}

// Instance identifies a MIG slice, or all slices of a GPU instance. The zero value
// is the GPU as a whole.
type Instance struct {
	named        bool
	gpu, compute int
}

// Of returns the slice with these IDs. A negative ID is an unknown one, for which
// the driver reports 0xFFFFFFFF: without a GPU instance it is the GPU, without a
// compute instance all of the GPU instance.
// https://docs.nvidia.com/deploy/nvml-api/structnvmlEventData__t.html
func Of(gpuInstance, computeInstance int) Instance {
	return Instance{named: gpuInstance >= 0, gpu: gpuInstance, compute: computeInstance}
}

// covers reports whether the instance includes the slice with these IDs.
func (i Instance) covers(gpuInstance, computeInstance int) bool {
	return i.named && i.gpu == gpuInstance && (i.compute < 0 || i.compute == computeInstance)
}

// remedy is what ends a fault.
type remedy uint8

const (
	none   remedy = iota // not a fault of the GPU
	probe                // the GPU answers, and the driver requests no action
	reset                // a reset, or a driver that reports that no action is needed
	reboot               // as reset, but the GPU cannot be reset: it is not on the bus
)

// advice returns what an administrator has to do where the driver requests nothing, or "".
func (r remedy) advice() string {
	switch r {
	case reset:
		return ResetGPU.advice()
	case reboot:
		return RebootNode.advice()
	}
	return ""
}

// xid classifies an Xid: as a fault of an application, as one that needs a reset, or
// as any other. Applications cause those that NVIDIA's own device plugin ignores.
// 154 is ignored too: it announces that the recovery action changed, which the next
// probe reads. The catalog says which ones need a reset or a reboot.
// https://github.com/NVIDIA/k8s-device-plugin/blob/main/internal/rm/health.go
// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
func xid(number uint64) (remedy, string) {
	switch number {
	case 13, 31, 43, 45, 68, 109, 154:
		return none, ""
	case 48:
		return reset, "Xid 48: uncorrectable memory error"
	case 62, 119, 120:
		return reset, fmt.Sprintf("Xid %d: a processor of the GPU stopped", number)
	case 64:
		return reset, "Xid 64: a memory row could not be remapped"
	case 74:
		return reset, "Xid 74: NVLink error"
	case 79:
		return reboot, "Xid 79: the GPU has fallen off the bus"
	case 95:
		return reset, "Xid 95: uncontained memory error"
	case 63:
		return probe, "Xid 63: a memory row is pending remapping"
	case 94:
		return probe, "Xid 94: contained memory error"
	}
	return probe, fmt.Sprintf("Xid %d", number)
}

// classify returns the remedy for an event's fault, and its name.
func (e Event) classify() (remedy, string) {
	switch e.Kind {
	case Xid:
		return xid(e.Xid)
	case DoubleBit:
		return reset, "uncorrectable memory error"
	}
	return probe, "the driver reports the GPU as unavailable"
}
