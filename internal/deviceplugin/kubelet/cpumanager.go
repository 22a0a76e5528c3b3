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

// stateFile is the file in the kubelet's root directory with the state of its CPU
// manager. With the policy none its policyName is "none".
const stateFile = "cpu_manager_state"

// CheckCPUManager returns ErrStaticCPUManager, with its source and the remedy, if
// the policy is static in the kubelet's configuration or in the CPU manager's
// state under the kubelet's root directory. The state also covers a policy that
// was set by flag, because a kubelet does not start with the state of another
// policy.
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

// staticError returns the error with its remedy. The kubelet must be stopped first:
// while it runs it may restart the container that mounts the state, and the
// runtime creates a directory in place of a mounted file that is missing.
func staticError(where, root string) error {
	return fmt.Errorf("%w (%s); drain the node, stop the kubelet, set cpuManagerPolicy: none, delete %s and start the kubelet",
		ErrStaticCPUManager, where, filepath.Join(root, stateFile))
}

// statePolicy returns the policy in the state, "" without a state file.
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
