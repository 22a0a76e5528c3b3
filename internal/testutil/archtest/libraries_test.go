package archtest

import (
	"slices"
	"strings"
)

// foreign is a third-party library that only some packages may import, such as NVIDIA's go-nvml.
// The field `importers` lists these packages; packages below them may import the library, too.
type foreign struct {
	path      string
	importers []string
}

// libraries returns the third-party libraries that only some packages may import. Libraries that
// are not in this list may be imported by all packages outside of pkg.
func libraries() []foreign {
	return []foreign{
		{"github.com/NVIDIA/go-nvml", []string{"internal/gpu/nvml"}},
		{"github.com/NVIDIA/nvidia-container-toolkit", []string{"internal/gpu/nvml"}},
		{"tags.cncf.io/container-device-interface", []string{"internal/gpu/nvml/cdi"}},
		{"github.com/containerd/cgroups", []string{"internal/agent/cgroup"}},
		{"github.com/coreos/go-systemd", []string{"internal/agent/cgroup", "internal/agent/containerd"}},
		{"github.com/godbus/dbus", []string{"internal/agent/cgroup"}},
		{"github.com/containerd/nri", []string{"internal/agent/nri"}},
		{"github.com/fsnotify/fsnotify", []string{"internal/agent/cgroup", "internal/deviceplugin/kubelet"}},
		{"github.com/jaypipes/ghw", []string{"internal/platform/ghwcheck"}},
		{"github.com/prometheus/client_golang", []string{"internal/agent/node/metrics", "internal/controller", "internal/deviceplugin", "internal/platform/telemetry", "internal/testutil/docstest"}},
		{"github.com/spf13/cobra", []string{"internal/cli", "lab/commands"}},
		{"github.com/spf13/pflag", []string{"internal/platform/config"}},
		{"google.golang.org/grpc", []string{"internal/agent/containerd", "internal/deviceplugin/kubelet"}},
		{"k8s.io/kubelet", []string{"internal/deviceplugin/kubelet"}},
		{"k8s.io/client-go", []string{"internal/agent", "internal/cli", "internal/controller", "internal/platform/kubeapi", "internal/platform/scrape"}},
		{"k8s.io/component-helpers", []string{"internal/agent/nodeapi", "internal/controller/filters", "internal/controller/mirror"}},
		{"k8s.io/kubernetes", []string{"internal/controller/filters"}},
		{"k8s.io/kube-scheduler", []string{"internal/controller/filters"}},
		{"k8s.io/dynamic-resource-allocation", []string{"internal/controller/filters"}},
		{"k8s.io/csi-translation-lib", []string{"internal/controller/filters"}},
		{"k8s.io/apiserver", []string{"internal/controller/filters", "internal/controller/queueapi"}},
		{"sigs.k8s.io/controller-runtime", []string{"internal/controller", "internal/platform/scrape"}},
	}
}

// library returns the entry of the list libraries() for an import path, or nil if the list has
// none. If several entries match, it returns the one with the longest path.
func library(path string) *foreign {
	var found *foreign
	for _, lib := range libraries() {
		if (path == lib.path || strings.HasPrefix(path, lib.path+"/")) && (found == nil || len(lib.path) > len(found.path)) {
			found = &lib
		}
	}
	return found
}

// importer returns the first path in the list `importers` that is the package given as `from` or
// a directory above it. It returns "" if there is none. Packages in the directory test may
// import any library, so for them it returns "test".
func importer(from string, importers []string) string {
	if top(from) == "test" {
		return "test"
	}
	i := slices.IndexFunc(importers, func(by string) bool { return from == by || strings.HasPrefix(from, by+"/") })
	if i < 0 {
		return ""
	}
	return importers[i]
}
