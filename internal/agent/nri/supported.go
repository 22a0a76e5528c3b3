package nri

import (
	"errors"
	"fmt"
)

// ErrUnsupported says that the container runtime is none that is supported.
// Connecting again would not mend it.
var ErrUnsupported = errors.New("only containerd ≥ 2.0 is supported (CRI-O was not tried yet): run this node with containerd, or keep the DaemonSet off it")

// supported returns nil for a runtime, by the name that it introduces itself
// with, which the plugin was tried with: pinning elsewhere would be a guess.
func supported(runtime, version string) error {
	if runtime == "containerd" {
		return nil
	}
	return fmt.Errorf("the container runtime is %s %s, but %w", runtime, version, ErrUnsupported)
}
