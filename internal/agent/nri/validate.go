package nri

import (
	"context"
	"fmt"

	"github.com/containerd/nri/pkg/api"
)

// ValidateContainerAdjustment comes when all plugins have answered
// CreateContainer. There is nothing to object to; being asked is the point. When
// the agent dies, or is too late, in the middle of CreateContainer, NRI before
// 0.12.4 goes on without its answer, and the runtime's required_plugins counts
// it as present. But a validator that cannot be asked fails the creation
// (adaptation.validateContainerAdjustment).
func (p *plugin) ValidateContainerAdjustment(context.Context, *api.ValidateContainerAdjustmentRequest) error {
	return nil
}

// withoutValidation are the hooks for runtimes that refuse plugins which ask
// for an event that they do not know.
const withoutValidation api.EventMask = 1<<(api.Event_RUN_POD_SANDBOX-1) |
	1<<(api.Event_STOP_POD_SANDBOX-1) |
	1<<(api.Event_REMOVE_POD_SANDBOX-1) |
	1<<(api.Event_CREATE_CONTAINER-1) |
	1<<(api.Event_START_CONTAINER-1) |
	1<<(api.Event_UPDATE_CONTAINER-1) |
	1<<(api.Event_POST_UPDATE_CONTAINER-1) |
	1<<(api.Event_REMOVE_CONTAINER-1)

// subscription returns the events to ask a containerd for; 0 means every hook
// that there is here. Validation came with NRI 0.10: containerd 2.2.
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
