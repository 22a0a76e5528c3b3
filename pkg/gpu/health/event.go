package health

import (
	"fmt"
)

// Kind is the type of an event.
type Kind uint8

// The types of events, with their names in NVML.
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

// Instance identifies a MIG slice, or all slices of one MIG GPU instance. The zero value
// means the GPU as a whole.
type Instance struct {
	named        bool
	gpu, compute int
}

// The function Of returns the Instance with the IDs of a GPU instance and of a compute instance. A
// negative ID means that the driver does not name this instance (it reports 0xFFFFFFFF). If no GPU
// instance is named, the result means the GPU as a whole. If only the compute instance is not
// named, it means all slices of the GPU instance.
// https://docs.nvidia.com/deploy/nvml-api/structnvmlEventData__t.html
func Of(gpuInstance, computeInstance int) Instance {
	return Instance{named: gpuInstance >= 0, gpu: gpuInstance, compute: computeInstance}
}

// covers reports whether the instance includes the slice with these IDs.
func (i Instance) covers(gpuInstance, computeInstance int) bool {
	return i.named && i.gpu == gpuInstance && (i.compute < 0 || i.compute == computeInstance)
}

// remedy is what must happen before a fault of a GPU counts as ended. The values are in ascending
// order of severity.
type remedy uint8

const (
	none   remedy = iota // nothing, because the event reports no fault of the GPU
	probe                // a probe that the GPU answers, while the driver requests no recovery action
	reset                // a reset of the GPU, or a probe in which the driver says that no recovery action is needed
	reboot               // the same as for `reset`; but the GPU is not on the PCI bus, so the driver cannot reset it, and only a reboot helps
)

// advice returns what an administrator has to do about a fault with this remedy if the
// driver itself requests no action. It returns "" if nothing has to be done.
func (r remedy) advice() string {
	switch r {
	case reset:
		return ResetGPU.advice()
	case reboot:
		return RebootNode.advice()
	}
	return ""
}

// xid returns the remedy and a description of an Xid. An Xid is the number of an error of NVIDIA's
// driver. Xids that NVIDIA's own device plugin ignores are errors of applications, and not faults
// of the GPU. Xid 154 is not a fault, either: it only says that the recovery action of the GPU has
// changed. The next probe reads the new action. NVIDIA's catalog of Xids says which Xids need a
// reset or a reboot.
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

// classify returns the remedy for the fault that an event reports, and the name of the
// fault.
func (e Event) classify() (remedy, string) {
	switch e.Kind {
	case Xid:
		return xid(e.Xid)
	case DoubleBit:
		return reset, "uncorrectable memory error"
	}
	return probe, "the driver reports the GPU as unavailable"
}
