package health

import "fmt"

// cure is what ends a fault.
type cure uint8

const (
	none  cure = iota // it is no fault of the GPU's
	probe             // the card answers, and the driver asks for nothing
	reset             // a reset, or a driver that says that none is needed
)

// xid tells the faults of programs, and those that need a reset, from the rest.
// The first are those that NVIDIA's own device plugin leaves out of account, and
// 154, which says that the driver asks for something else now: the next probe
// tells. The others are from the catalogue, where they end in a reset or a reboot.
// https://github.com/NVIDIA/k8s-device-plugin/blob/main/internal/rm/health.go
// https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
func xid(number uint64) (cure, string) {
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
		return reset, "Xid 79: the GPU has fallen off the bus"
	case 95:
		return reset, "Xid 95: uncontained memory error"
	case 63:
		return probe, "Xid 63: a memory row is to be remapped"
	case 94:
		return probe, "Xid 94: contained memory error"
	}
	return probe, fmt.Sprintf("Xid %d", number)
}

// judge returns what ends an event's fault, and its name.
func (e Event) judge() (cure, string) {
	switch e.Kind {
	case Xid:
		return xid(e.Xid)
	case DoubleBit:
		return reset, "uncorrectable memory error"
	}
	return probe, "the driver reports the GPU unavailable"
}
