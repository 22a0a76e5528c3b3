package health

// Action is what the driver asks for to make a card well again.
type Action uint8

// The actions, as nvmlDeviceGpuRecoveryAction_t has them. The zero value stands
// for a driver that does not tell.
// https://nvidia.github.io/cuda-python/cuda-bindings/latest/module/generated/cuda.bindings.nvml.DeviceGpuRecoveryAction.html
const (
	UnknownAction Action = iota
	NoAction
	ResetGPU
	RebootNode
	DrainPeers
	DrainAndReset
	RecoverIMEX
	ResetBus
	RebootSystem
)

// advice returns what an administrator is to do, or "".
func (a Action) advice() string {
	switch a {
	case ResetGPU:
		return "reset the GPU"
	case RebootNode:
		return "reboot the node"
	case DrainPeers:
		return "end what uses NVLink with it"
	case DrainAndReset:
		return "end what runs on it, then reset the GPU"
	case RecoverIMEX:
		return "recover the IMEX domain"
	case ResetBus:
		return "reset the GPU's PCIe bus"
	case RebootSystem:
		return "reboot the system"
	}
	return ""
}

// Probe is what an adapter found when it asked a card how it is.
type Probe struct {
	Answers bool
	Error   string // why it does not answer, as the driver says
	Action  Action
	Reset   bool // the card was reset, or the node rebooted, since the last probe
}

// cures reports whether a card found so is rid of a fault that c ends.
func (p Probe) cures(c cure) bool {
	switch {
	case p.Reset:
		return true
	case p.Action.advice() != "":
		return false
	}
	return c == probe || p.Action == NoAction
}
