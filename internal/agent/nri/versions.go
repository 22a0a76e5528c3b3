package nri

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/nri/pkg/api"
)

// ValidateContainerAdjustment is called when all plugins have answered
// CreateContainer. It accepts everything; only the subscription matters. If the
// agent ends or times out during CreateContainer, NRI before 0.12.4 continues
// without its answer, and the runtime's required_plugins still counts it as
// present. But a validator that cannot be called fails the creation
// (adaptation.validateContainerAdjustment).
func (p *plugin) ValidateContainerAdjustment(context.Context, *api.ValidateContainerAdjustmentRequest) error {
	return nil
}

// withoutValidation is the mask of hooks for runtimes that reject a plugin with an
// unknown event.
const withoutValidation api.EventMask = 1<<(api.Event_RUN_POD_SANDBOX-1) |
	1<<(api.Event_STOP_POD_SANDBOX-1) |
	1<<(api.Event_REMOVE_POD_SANDBOX-1) |
	1<<(api.Event_CREATE_CONTAINER-1) |
	1<<(api.Event_START_CONTAINER-1) |
	1<<(api.Event_UPDATE_CONTAINER-1) |
	1<<(api.Event_POST_UPDATE_CONTAINER-1) |
	1<<(api.Event_REMOVE_CONTAINER-1)

// subscription returns the events to subscribe to with a version of containerd; 0
// means all hooks of the plugin. Validation was added in NRI 0.10 (containerd 2.2).
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

// ErrUnsupported means that the container runtime is not supported. A new connection
// would not help.
var ErrUnsupported = errors.New("only containerd ≥ 2.0 is supported (CRI-O has not been tested); run containerd on this node, or exclude the node from the DaemonSet")

// supported returns nil for a runtime, by its name, with which the plugin is tested.
func supported(runtime, version string) error {
	if runtime == "containerd" {
		return nil
	}
	return fmt.Errorf("the container runtime is %s %s, but %w", runtime, version, ErrUnsupported)
}
