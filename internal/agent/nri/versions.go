package nri

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/nri/pkg/api"
)

// ValidateContainerAdjustment is called when all plugins have answered CreateContainer. It accepts
// everything. It exists so that the runtime counts the plugin as a validator, because of a fault of
// NRI before 0.12.4. If the agent ends or times out during CreateContainer, this NRI continues
// without the agent's answer, and the runtime's required_plugins still counts the agent as present.
// But if NRI cannot call a validator, the creation of the container fails
// (adaptation.validateContainerAdjustment).
func (p *plugin) ValidateContainerAdjustment(context.Context, *api.ValidateContainerAdjustmentRequest) error {
	return nil
}

// withoutValidation has all hooks of the plugin except the validation. It is for runtimes that do
// not know the validation, and reject a plugin that subscribes to an event that they do not know.
const withoutValidation api.EventMask = 1<<(api.Event_RUN_POD_SANDBOX-1) |
	1<<(api.Event_STOP_POD_SANDBOX-1) |
	1<<(api.Event_REMOVE_POD_SANDBOX-1) |
	1<<(api.Event_CREATE_CONTAINER-1) |
	1<<(api.Event_START_CONTAINER-1) |
	1<<(api.Event_UPDATE_CONTAINER-1) |
	1<<(api.Event_POST_UPDATE_CONTAINER-1) |
	1<<(api.Event_REMOVE_CONTAINER-1)

// subscription returns the events to which the plugin subscribes with a version of containerd. 0
// means all hooks of the plugin. The validation was added in NRI 0.10 (containerd 2.2).
func subscription(version string) api.EventMask {
	inferred, err := api.InferVersionFromRuntime("containerd", version)
	if err != nil {
		return 0
	}
	var minor int
	if _, err := fmt.Sscanf(inferred, "v0.%d.", &minor); err == nil && minor < 10 {
		return withoutValidation
	}
	return 0
}

// oldestMajor is the oldest supported major version of containerd.
const oldestMajor = 2

// ErrUnsupported means that the container runtime is not supported, so that the plugin does not
// connect again.
var ErrUnsupported = errors.New("only containerd ≥ 2.0 is supported (CRI-O has not been tested); run containerd on this node, or exclude the node from the DaemonSet")

// supported returns nil if the plugin supports the runtime. It accepts a version that does not look
// like 1.7.27 or v2.1.0, because that is a development build. It refuses containerd 1.7, although
// NRI can be enabled there. NRI in 1.7 has neither the validation nor required_plugins, without
// which a container can run unpinned.
func supported(runtime, version string) error {
	var major int
	if _, err := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.", &major); err != nil {
		major = oldestMajor
	}
	if runtime == "containerd" && major >= oldestMajor {
		return nil
	}
	return fmt.Errorf("the container runtime is %s %s, but %w", runtime, version, ErrUnsupported)
}
