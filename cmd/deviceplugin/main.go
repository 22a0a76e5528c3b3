// Command numalet-deviceplugin publishes to the kubelet the number of CPUs per NUMA node
// that can be exclusive, and the node's GPUs.
package main

import (
	"github.com/numalet/numalet/internal/deviceplugin"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

func main() {
	config.Main("numalet-deviceplugin", telemetry.Version(), config.LoadDevicePlugin, deviceplugin.Run)
}
