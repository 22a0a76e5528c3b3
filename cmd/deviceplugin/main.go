// Command numalet-deviceplugin tells the kubelet, per NUMA node, how many CPUs
// may be exclusive, and which GPUs there are.
package main

import (
	"github.com/numalet/numalet/internal/deviceplugin"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

func main() {
	config.Main("numalet-deviceplugin", telemetry.Version(), config.LoadDevicePlugin, deviceplugin.Run)
}
