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

// subscription returns the hooks to which the plugin subscribes if the container runtime has this
// name and version. The result 0 means all hooks of the plugin. NRI 0.10 (containerd 2.2) added the
// hook ValidateContainerAdjustment. For older versions of containerd, subscription leaves out this
// hook. All supported versions of CRI-O know it.
func subscription(runtime, version string) api.EventMask {
	if runtime != containerd {
		return 0
	}
	inferred, err := api.InferVersionFromRuntime(runtime, asTag(version))
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

// These are the names by which the supported container runtimes identify themselves to NRI plugins.
const (
	containerd = "containerd"
	crio       = "cri-o"
)

// ErrUnsupported means that the plugin does not support the container runtime of this node. The
// plugin then does not connect again. Errors that wrap ErrUnsupported say what the plugin needs.
var ErrUnsupported = errors.New("change this node, or exclude it from the DaemonSet")

// release is the major and the minor version of a container runtime.
type release struct{ major, minor int }

// oldest returns the oldest supported release of the container runtime with this name. The second
// result is false if no release is supported.
//
// containerd 1.7 is not supported, although NRI can be enabled there. It has neither the hook
// ValidateContainerAdjustment nor the setting required_plugins, so containers could run unpinned.
// CRI-O 1.36 is the oldest release of CRI-O that was tested.
func oldest(runtime string) (release, bool) {
	switch runtime {
	case containerd:
		return release{2, 0}, true
	case crio:
		return release{1, 36}, true
	}
	return release{}, false
}

// supported returns nil if the plugin supports the container runtime. It accepts a version that
// does not look like 1.7.27 or v2.1.0, because such a version is probably that of a development
// build.
func supported(runtime, version string) error {
	least, known := oldest(runtime)
	var v release
	if _, err := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &v.major, &v.minor); err != nil {
		v = least
	}
	if known && (v.major > least.major || v.major == least.major && v.minor >= least.minor) {
		return nil
	}
	return fmt.Errorf("the container runtime is %s %s, and the agent needs containerd ≥ 2.0 or CRI-O ≥ 1.36: %w", runtime, version, ErrUnsupported)
}

// ignoresRefusal reports whether the container runtime with this name starts a container even if the
// hook StartContainer returns an error. CRI-O 1.36.1 only logs such an error, and then starts the
// container (StartContainer in its server/container_start.go).
func ignoresRefusal(runtime string) bool { return runtime == crio }
