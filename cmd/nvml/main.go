// Command numalet-nvml reads a node's GPUs from NVIDIA's driver, and sends them to the
// agent and the device plugin. It is a separate process, because the library of the
// driver (NVML) can crash or hang, and would then stop the agent or the device plugin, too.
package main

import (
	"github.com/numalet/numalet/internal/gpu/nvmlserver"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

func main() {
	config.Main("numalet-nvml", telemetry.Version(), config.LoadNVML, nvmlserver.Run)
}
