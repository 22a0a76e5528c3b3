// Command numalet-deviceplugin is a device plugin of the kubelet. It publishes the GPUs of the
// Kubernetes node, and how many CPUs of each NUMA node can be exclusive.
package main

import (
	"github.com/numalet/numalet/internal/deviceplugin"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

func main() {
	config.Main("numalet-deviceplugin", telemetry.Version(), config.LoadDevicePlugin, deviceplugin.Run)
}
