package health

// Action is the recovery action that the driver requests for a GPU.
type Action uint8

// The recovery actions of NVML (nvmlDeviceGpuRecoveryAction_t). The zero value means that the
// driver reports no recovery action.
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

// advice returns what an administrator has to do when the driver requests this action, or ""
// for nothing.
func (a Action) advice() string {
	switch a {
	case ResetGPU:
		return "reset the GPU"
	case RebootNode:
		return "reboot the node"
	case DrainPeers:
		return "stop the workloads that use NVLink with it"
	case DrainAndReset:
		return "stop the workloads on it, then reset the GPU"
	case RecoverIMEX:
		return "recover the IMEX domain"
	case ResetBus:
		return "reset the GPU's PCIe bus"
	case RebootSystem:
		return "reboot the system"
	}
	return ""
}

// Probe is the result of a query of a GPU's health.
type Probe struct {
	Answers bool
	Error   string // the driver's error if the GPU does not answer
	Action  Action
	Reset   bool // the GPU was reset, or the node rebooted, since the last probe
}

// clears reports whether the probe shows that a fault with this remedy has ended.
func (p Probe) clears(r remedy) bool {
	switch {
	case p.Reset:
		return true
	case p.Action.advice() != "":
		return false
	}
	return r == probe || p.Action == NoAction
}
