package kubelet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrStaticCPUManager means that the kubelet itself assigns exclusive CPUs.
var ErrStaticCPUManager = errors.New("the kubelet's CPU manager policy is static, so the kubelet and Numalet would write the same cpusets")

// stateFile is the file in which the kubelet's CPU manager keeps its state, relative to
// the kubelet's root directory. Its field policyName is the CPU manager policy.
const stateFile = "cpu_manager_state"

// CheckCPUManager returns an error that wraps ErrStaticCPUManager if the kubelet's CPU manager
// policy is static. The error says where the policy was found and how to change it. CheckCPUManager
// looks in the kubelet's configuration and in the CPU manager's state file under the kubelet's root
// directory. A kubelet does not start if the policy in the state file differs from its own policy.
// So the state file of a running kubelet shows the kubelet's policy, even if it was set by a flag.
func CheckCPUManager(config Config, root string) error {
	if config.CPUManagerPolicy == "static" {
		return staticError(fmt.Sprintf("cpuManagerPolicy in %s", config.Files), root)
	}
	path := filepath.Join(root, stateFile)
	policy, err := statePolicy(path)
	if err != nil {
		return err
	}
	if policy == "static" {
		return staticError("policyName in "+path, root)
	}
	return nil
}

// staticError returns ErrStaticCPUManager with instructions for an administrator. The instructions
// stop the kubelet before they delete the state file, because containers of Numalet mount this
// file. If a running kubelet restarted such a container while the file is missing, the container
// runtime would create a directory in place of the file.
func staticError(where, root string) error {
	return fmt.Errorf("%w (%s); drain the node, stop the kubelet, set cpuManagerPolicy: none, delete %s and start the kubelet",
		ErrStaticCPUManager, where, filepath.Join(root, stateFile))
}

// statePolicy returns the policy in the state file, or "" if there is no state file.
func statePolicy(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the state of the kubelet's CPU manager: %w; make the file readable for this process", err)
	}
	var state struct {
		PolicyName string `json:"policyName"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return "", fmt.Errorf("parse the state of the kubelet's CPU manager %s: %w; stop the kubelet, delete the file and start the kubelet", path, err)
	}
	return state.PolicyName, nil
}
