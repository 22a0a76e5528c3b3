// Command numalet-containerd configures the containerd of one node to start containers only while
// numalet-agent runs. It can also remove this configuration.
package main

import (
	"github.com/numalet/numalet/internal/agent/installer"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

func main() {
	config.Main("numalet-containerd", telemetry.Version(), config.LoadContainerd, installer.Run)
}
