package nri

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/nri/pkg/api"
)

// ValidateContainerAdjustment is called when all plugins have answered CreateContainer. It accepts
// every adjustment. It exists only to make the container runtime count this plugin as a validator,
// because of a fault of NRI before 0.12.4. If the agent ends or times out during CreateContainer,
// such an NRI continues without the agent's answer, and its check of required_plugins still counts
// the agent as present. But the agent is also a validator, and if such an NRI cannot call a
// validator, the creation of the container fails (adaptation.validateContainerAdjustment).
func (p *plugin) ValidateContainerAdjustment(context.Context, *api.ValidateContainerAdjustmentRequest) error {
	return nil
}

// withoutValidation has all hooks of the plugin except ValidateContainerAdjustment. It is for
// container runtimes that do not know this hook. Such a runtime rejects a plugin that subscribes to
// a hook that it does not know.
const withoutValidation api.EventMask = 1<<(api.Event_RUN_POD_SANDBOX-1) |
	1<<(api.Event_STOP_POD_SANDBOX-1) |
	1<<(api.Event_REMOVE_POD_SANDBOX-1) |
	1<<(api.Event_CREATE_CONTAINER-1) |
	1<<(api.Event_START_CONTAINER-1) |
	1<<(api.Event_UPDATE_CONTAINER-1) |
	1<<(api.Event_POST_UPDATE_CONTAINER-1) |
	1<<(api.Event_REMOVE_CONTAINER-1)

// subscription returns the hooks to which the plugin subscribes if containerd has this version. The
// result 0 means all hooks of the plugin. NRI 0.10 (containerd 2.2) added the hook
// ValidateContainerAdjustment. For older versions, subscription leaves out this hook.
func subscription(version string) api.EventMask {
	inferred, err := api.InferVersionFromRuntime("containerd", asTag(version))
	if err != nil {
		return 0
	}
	var minor int
	if _, err := fmt.Sscanf(inferred, "v0.%d.", &minor); err == nil && minor < 10 {
		return withoutValidation
	}
	return 0
}

// asTag returns the version of containerd in the form of containerd's release tags, such as v2.1.5,
// because api.InferVersionFromRuntime knows only this form. Distributions build containerd with
// versions such as 2.1.5 and 2.1.5~ds1.
func asTag(version string) string {
	version, _, _ = strings.Cut(version, "~")
	return "v" + strings.TrimPrefix(version, "v")
}

// oldestMajor is the oldest supported major version of containerd.
const oldestMajor = 2

// ErrUnsupported means that the plugin does not support the container runtime. The plugin then does
// not connect again.
var ErrUnsupported = errors.New("only containerd ≥ 2.0 is supported (CRI-O starts a container even if the agent refuses the start); run containerd on this node, or exclude the node from the DaemonSet")

// supported returns nil if the plugin supports the container runtime. It accepts a version that
// does not look like 1.7.27 or v2.1.0, because such a version is probably that of a development
// build. It refuses containerd 1.7, although NRI can be enabled there. containerd 1.7 has neither
// the hook ValidateContainerAdjustment nor the setting required_plugins, so containers could run
// unpinned.
//
// It refuses CRI-O, because CRI-O 1.36.1 only logs an error of the hook StartContainer, and then
// starts the container (StartContainer in its server/container_start.go).
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
