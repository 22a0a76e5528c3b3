package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// NVML is the configuration of numalet-nvml (cmd/nvml).
type NVML struct {
	Process
	GPUSocket     string
	DriverRoot    string
	HostRoot      string // the directory of the host that the container has mounted at DriverRoot
	Library       string // the path of libnvidia-ml.so.1; "" to search for it under DriverRoot
	CDIKind       string // kind of the CDI devices in the specification that numalet-nvml writes; "" to write none
	CDIDir        string
	CDIHook       string // path of nvidia-cdi-hook on the host; "" for no hooks
	SysfsRoot     string
	Refresh       time.Duration // time between polls of all GPUs
	RecoveryDelay time.Duration // how long a GPU stays unhealthy after the last fault that the driver reported
}

// DefaultGPUSocket is the default path of the socket on which numalet-nvml serves a
// node's GPUs.
const DefaultGPUSocket = "/run/numalet/gpu.sock"

func defaultNVML() NVML {
	return NVML{
		Process:       Process{HealthAddr: "127.0.0.1:8126", LogFormat: Text},
		GPUSocket:     DefaultGPUSocket,
		DriverRoot:    "/",
		HostRoot:      "/",
		CDIDir:        "/var/run/cdi",
		CDIHook:       "/usr/bin/nvidia-cdi-hook",
		SysfsRoot:     "/",
		Refresh:       10 * time.Second,
		RecoveryDelay: time.Minute,
	}
}

// OwnCDIKind returns the kind of the devices in the CDI specification that numalet-nvml
// writes, or "" if it writes no specification. It writes none for kinds of the vendor
// nvidia.com, such as "nvidia.com/gpu": NVIDIA's tools write specifications for these
// kinds, and container runtimes refuse a device that is in two specifications.
func (n NVML) OwnCDIKind() string {
	vendor, _, _ := strings.Cut(n.CDIKind, "/")
	if vendor == "nvidia.com" || strings.HasSuffix(vendor, ".nvidia.com") {
		return ""
	}
	return n.CDIKind
}

func (n *NVML) bind(settings *pflag.FlagSet) {
	settings.StringVar(&n.GPUSocket, "gpu-socket", n.GPUSocket, "Unix `socket` that serves this node's GPUs.")
	settings.StringVar(&n.DriverRoot, "driver-root", n.DriverRoot, "`Directory` with the driver's libraries: the mount of the host's root, or / if NVIDIA's container toolkit mounts the libraries into this container.")
	settings.StringVar(&n.HostRoot, "host-driver-root", n.HostRoot, "`Directory` of the host that is mounted at --driver-root.")
	settings.StringVar(&n.Library, "nvml-library", n.Library, "Path of libnvidia-ml.so.1 (a `file`). Empty searches under --driver-root.")
	settings.StringVar(&n.SysfsRoot, "sysfs-root", n.SysfsRoot, "`Directory` that holds the machine's sys and proc.")
	settings.StringVar(&n.CDIKind, "gpu-cdi-kind", n.CDIKind, "Write a specification of the Container Device Interface (CDI) with all GPUs as devices of this `kind`, such as numalet.dev/gpu. The UUIDs of the GPUs are the names of the devices. If this setting is empty, or the kind is of nvidia.com, no specification is written: NVIDIA's tools write those of nvidia.com.")
	settings.StringVar(&n.CDIDir, "gpu-cdi-dir", n.CDIDir, "`Directory` for the CDI specification: the mount of a directory that the host's container runtime reads.")
	settings.StringVar(&n.CDIHook, "gpu-cdi-hook", n.CDIHook, "Path of nvidia-cdi-hook on the host (a `file`), from NVIDIA's container toolkit. This program updates the cache of shared libraries (ldconfig) in containers. If this setting is empty, the images of containers must do so.")
	settings.DurationVar(&n.Refresh, "gpu-refresh", n.Refresh, "How often all GPUs are checked, as a `duration`. Faults are reported at once.")
	settings.DurationVar(&n.RecoveryDelay, "gpu-recovery-delay", n.RecoveryDelay, "How long a GPU stays unhealthy after the last report of a fault, as a `duration`.")
	n.Process.bind(settings)
}

func (n NVML) validate() error {
	errs := []error{n.Process.validate(), absolute("gpu-socket", n.GPUSocket), absolute("driver-root", n.DriverRoot), absolute("host-driver-root", n.HostRoot), absolute("sysfs-root", n.SysfsRoot)}
	if n.Library != "" {
		errs = append(errs, absolute("nvml-library", n.Library))
	}
	if n.CDIKind != "" {
		errs = append(errs, qualified("gpu-cdi-kind", n.CDIKind), absolute("gpu-cdi-dir", n.CDIDir))
	}
	if n.CDIHook != "" {
		errs = append(errs, absolute("gpu-cdi-hook", n.CDIHook))
	}
	if n.Refresh < minRefresh {
		errs = append(errs, fmt.Errorf("gpu-refresh %s is below %s", n.Refresh, minRefresh))
	}
	if n.RecoveryDelay < 0 {
		errs = append(errs, fmt.Errorf("gpu-recovery-delay %s is negative", n.RecoveryDelay))
	}
	return errors.Join(errs...)
}
