package health

// Kind is what an event is about.
type Kind uint8

// The kinds.
const (
	Xid         Kind = iota // nvmlEventTypeXidCriticalError: Event.Xid tells which
	DoubleBit               // nvmlEventTypeDoubleBitEccError: memory lost what it held
	Unavailable             // nvmlEventTypeGpuUnavailableError
)

// Event is what the driver reported of a card.
type Event struct {
	Card     string // UUID
	Kind     Kind
	Xid      uint64
	Instance Instance
}

// Instance names a MIG slice, or all slices of a GPU instance, or none: the
// zero value is about the card as a whole.
type Instance struct {
	named        bool
	gpu, compute int
}

// Of returns the slice with these ids. The driver's ids are unsigned; what it
// cannot tell it reports as 0xFFFFFFFF, for which none may be given, as -1: no
// GPU instance is the card, no compute instance all of the GPU instance.
// https://docs.nvidia.com/deploy/nvml-api/structnvmlEventData__t.html
func Of(gpuInstance, computeInstance int) Instance {
	return Instance{named: gpuInstance >= 0, gpu: gpuInstance, compute: computeInstance}
}

// covers reports whether the slice with these ids is meant.
func (i Instance) covers(gpuInstance, computeInstance int) bool {
	return i.named && i.gpu == gpuInstance && (i.compute < 0 || i.compute == computeInstance)
}
