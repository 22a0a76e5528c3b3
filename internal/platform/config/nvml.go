package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// NVML configures cmd/nvml.
type NVML struct {
	Process
	GPUSocket  string
	DriverRoot string
	HostRoot   string // what the host has at DriverRoot
	Library    string // "" means to look for it under DriverRoot
	CDIKind    string // "" for no CDI devices
	CDIDir     string
	CDIHook    string // "" for no hooks
	SysfsRoot  string
	Refresh    time.Duration // how often all GPUs are looked at
	Settle     time.Duration // how long a fault stays after it was last reported
}

// DefaultGPUSocket is where a node's GPUs are told, if nobody sets it otherwise.
const DefaultGPUSocket = "/run/numalet/gpu.sock"

func defaultNVML() NVML {
	return NVML{
		Process:    Process{HealthAddr: "127.0.0.1:8126", LogFormat: Text},
		GPUSocket:  DefaultGPUSocket,
		DriverRoot: "/",
		HostRoot:   "/",
		CDIDir:     "/var/run/cdi",
		CDIHook:    "/usr/bin/nvidia-cdi-hook",
		SysfsRoot:  "/",
		Refresh:    10 * time.Second,
		Settle:     time.Minute,
	}
}

// OwnCDIKind returns the kind that numalet-nvml specifies; "" for none, and where
// NVIDIA's tools do: two specifications that name one device make it unusable.
func (n NVML) OwnCDIKind() string {
	vendor, _, _ := strings.Cut(n.CDIKind, "/")
	if vendor == "nvidia.com" || strings.HasSuffix(vendor, ".nvidia.com") {
		return ""
	}
	return n.CDIKind
}

func (n *NVML) bind(t *pflag.FlagSet) {
	t.StringVar(&n.GPUSocket, "gpu-socket", n.GPUSocket, "`socket` at which this node's GPUs are told")
	t.StringVar(&n.DriverRoot, "driver-root", n.DriverRoot, "`directory` under which the driver's libraries are: the mount of the host's root, or / where NVIDIA's container toolkit mounts them")
	t.StringVar(&n.HostRoot, "host-driver-root", n.HostRoot, "the host's `directory` that is mounted at --driver-root")
	t.StringVar(&n.Library, "nvml-library", n.Library, "`file` of libnvidia-ml.so.1; empty means to look for it under --driver-root")
	t.StringVar(&n.SysfsRoot, "sysfs-root", n.SysfsRoot, "`directory` that holds sys and proc of the machine")
	t.StringVar(&n.CDIKind, "gpu-cdi-kind", n.CDIKind, "write a CDI specification of all GPUs, as devices of this `kind`, such as numalet.dev/gpu, by UUID; not of kinds of nvidia.com, which NVIDIA's tools write; empty means none")
	t.StringVar(&n.CDIDir, "gpu-cdi-dir", n.CDIDir, "`directory` for that specification: the mount of one that the host's container runtime reads")
	t.StringVar(&n.CDIHook, "gpu-cdi-hook", n.CDIHook, "the host's `file` nvidia-cdi-hook, of NVIDIA's container toolkit, which makes libraries known in containers; empty means that images care for that")
	t.DurationVar(&n.Refresh, "gpu-refresh", n.Refresh, "how often all GPUs are looked at, as a `duration`; faults are reported at once")
	t.DurationVar(&n.Settle, "gpu-settle", n.Settle, "how long a GPU stays unhealthy after a fault was last reported, as a `duration`")
	n.Process.bind(t)
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
	if n.Settle < 0 {
		errs = append(errs, fmt.Errorf("gpu-settle %s is negative", n.Settle))
	}
	return errors.Join(errs...)
}
