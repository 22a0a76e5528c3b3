package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// NVML configures cmd/nvml.
type NVML struct {
	Process
	GPUSocket  string
	DriverRoot string
	Library    string // "" means to look for it under DriverRoot
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
		SysfsRoot:  "/",
		Refresh:    10 * time.Second,
		Settle:     time.Minute,
	}
}

func (n *NVML) bind(t *pflag.FlagSet) {
	t.StringVar(&n.GPUSocket, "gpu-socket", n.GPUSocket, "`socket` at which this node's GPUs are told")
	t.StringVar(&n.DriverRoot, "driver-root", n.DriverRoot, "`directory` under which the driver's libraries are: the mount of the host's root, or / where NVIDIA's container toolkit mounts them")
	t.StringVar(&n.Library, "nvml-library", n.Library, "`file` of libnvidia-ml.so.1; empty means to look for it under --driver-root")
	t.StringVar(&n.SysfsRoot, "sysfs-root", n.SysfsRoot, "`directory` that holds sys and proc of the machine")
	t.DurationVar(&n.Refresh, "gpu-refresh", n.Refresh, "how often all GPUs are looked at, as a `duration`; faults are reported at once")
	t.DurationVar(&n.Settle, "gpu-settle", n.Settle, "how long a GPU stays unhealthy after a fault was last reported, as a `duration`")
	n.Process.bind(t)
}

func (n NVML) validate() error {
	errs := []error{n.Process.validate(), absolute("gpu-socket", n.GPUSocket), absolute("driver-root", n.DriverRoot), absolute("sysfs-root", n.SysfsRoot)}
	if n.Library != "" {
		errs = append(errs, absolute("nvml-library", n.Library))
	}
	if n.Refresh < minRefresh {
		errs = append(errs, fmt.Errorf("gpu-refresh %s is below %s", n.Refresh, minRefresh))
	}
	if n.Settle < 0 {
		errs = append(errs, fmt.Errorf("gpu-settle %s is negative", n.Settle))
	}
	return errors.Join(errs...)
}
