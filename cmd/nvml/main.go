// Command numalet-nvml asks NVIDIA's driver for a node's GPUs, and tells the
// agent and the device plugin. It is a process of its own because the driver's
// library may crash or hang.
package main

import (
	"github.com/numalet/numalet/internal/gpu/nvmlserver"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

func main() {
	config.Main("numalet-nvml", telemetry.Version(), config.LoadNVML, nvmlserver.Run)
}
