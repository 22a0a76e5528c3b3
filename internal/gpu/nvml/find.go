package nvml

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// libraryName is the file name of NVML. It includes the version of NVML's binary
// interface, of which there is only one so far.
const libraryName = "libnvidia-ml.so.1"

// libraryDirs returns the directories where distributions, NVIDIA's container
// toolkit and managed Kubernetes install the driver's libraries.
func libraryDirs() []string {
	return []string{
		"usr/lib64",
		"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu",
		"usr/lib/x86_64-linux-gnu/nvidia/current", "usr/lib/aarch64-linux-gnu/nvidia/current",
		"lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu",
		"usr/local/nvidia/lib64", "home/kubernetes/bin/nvidia/lib64", "opt/nvidia/lib64",
	}
}

// Find returns the path of NVML below `root`, the root directory of the driver's files.
// If NVIDIA's container toolkit mounts NVML into this container, `root` is "/". Otherwise
// `root` is the directory where the root directory of the host, or that of a driver
// container, is mounted. Symbolic links are resolved relative to `root`. If there is no
// NVML, the error wraps ErrAbsent.
func Find(root string) (string, error) {
	for _, dir := range libraryDirs() {
		path, err := securejoin.SecureJoin(root, filepath.Join(dir, libraryName))
		if err != nil {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("find %s: %w", libraryName, err)
		}
	}
	return "", fmt.Errorf("%w: no %s in the library directories under %s", ErrAbsent, libraryName, root)
}
