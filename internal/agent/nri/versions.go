package nri

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// oldestMajor is the oldest supported major version of containerd.
const oldestMajor = 2

// ErrUnsupported means that the container runtime is not supported. A new connection
// would not help.
var ErrUnsupported = errors.New("only containerd ≥ 2.0 is supported (CRI-O has not been tested); run containerd on this node, or exclude the node from the DaemonSet")

// supported returns nil for a runtime with which the plugin is tested. A version of another
// form than 1.7.27 or v2.1.0 is that of a development build, and is accepted. containerd
// 1.7 is refused although NRI can be enabled there: its NRI has neither the validation nor
// the required plugins that keep a container from running unpinned.
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
