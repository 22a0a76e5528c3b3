package kubelet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrStaticCPUManager says that the kubelet itself hands out exclusive CPUs.
var ErrStaticCPUManager = errors.New("the kubelet's CPU manager is static, so two would write the same cpusets")

// stateFile is where the kubelet, under its root directory, keeps what its CPU
// manager does; with policy none it has policyName "none".
const stateFile = "cpu_manager_state"

// CheckCPUManager returns ErrStaticCPUManager, with where that was seen and
// what to do, when the kubelet's configuration or the CPU manager's own state
// under the kubelet's root directory says static. The state tells it even of a
// kubelet that got its policy by flag: a kubelet does not start on the state of
// another policy.
func CheckCPUManager(c Config, root string) error {
	if c.CPUManagerPolicy == "static" {
		return refuseStatic(fmt.Sprintf("cpuManagerPolicy in %s", c.Files), root)
	}
	path := filepath.Join(root, stateFile)
	policy, err := statePolicy(path)
	if err != nil {
		return err
	}
	if policy == "static" {
		return refuseStatic("policyName in "+path, root)
	}
	return nil
}

// refuseStatic says what to do. The kubelet is to be stopped first: while it
// runs it may restart the container that mounts the state, and the runtime
// makes a directory of a mounted file that is missing.
func refuseStatic(where, root string) error {
	return fmt.Errorf("%w (%s): drain the node, stop the kubelet, set cpuManagerPolicy: none, delete %s and start the kubelet",
		ErrStaticCPUManager, where, filepath.Join(root, stateFile))
}

// statePolicy returns "" when there is no state.
func statePolicy(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the state of the kubelet's CPU manager: %w: let this process read the file", err)
	}
	var state struct {
		PolicyName string `json:"policyName"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return "", fmt.Errorf("parse the state of the kubelet's CPU manager %s: %w: stop the kubelet, delete it and start the kubelet", path, err)
	}
	return state.PolicyName, nil
}
