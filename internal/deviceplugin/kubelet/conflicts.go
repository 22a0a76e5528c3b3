package kubelet

import (
	"errors"
	"fmt"
)

// Conflict is a setting of the kubelet that does not work together with Numalet.
type Conflict struct {
	Reason  string // one CamelCase word
	Message string // the setting, its effect, and what to change
}

// Error returns the message.
func (c Conflict) Error() string { return c.Message }

// Is lets errors.Is find ErrStaticCPUManager in a Conflict about the kubelet's CPU
// manager.
func (c Conflict) Is(target error) bool {
	return target == ErrStaticCPUManager && c.Reason == CPUManagerStatic
}

// These are the values of Conflict.Reason.
const (
	CPUManagerStatic    = "CPUManagerStatic"
	MemoryManagerStatic = "MemoryManagerStatic"
	TopologyManager     = "TopologyManager"
)

// Conflicts returns the settings of the kubelet that conflict with Numalet, the worst
// first. It returns an error if the kubelet's cpu_manager_state file cannot be read.
func Conflicts(config Config, root string) (all []Conflict, err error) {
	static := CheckCPUManager(config, root)
	if static != nil && !errors.Is(static, ErrStaticCPUManager) {
		return nil, static
	}
	if static != nil {
		all = append(all, Conflict{CPUManagerStatic, static.Error()})
	}
	if config.MemoryManagerPolicy == "Static" {
		all = append(all, Conflict{MemoryManagerStatic, fmt.Sprintf(
			"memoryManagerPolicy in %s is Static: the kubelet binds the memory of Guaranteed pods to other NUMA nodes than Numalet, and refuses pods for memory that is free; drain the node, stop the kubelet, set memoryManagerPolicy: None, delete memory_manager_state in the kubelet's root directory and start the kubelet", config.Files)})
	}
	if p := config.TopologyManagerPolicy; p != "" && p != "none" {
		all = append(all, Conflict{TopologyManager, fmt.Sprintf(
			"topologyManagerPolicy in %s is %s: the kubelet chooses other GPUs than those decided on, or refuses pods with TopologyAffinityError; set topologyManagerPolicy: none and restart the kubelet", config.Files, p)})
	}
	return all, nil
}
