// Command numalet-containerd configures the containerd of one node so that it starts containers
// only while numalet-agent runs, or removes that configuration.
package main

import (
	"github.com/numalet/numalet/internal/agent/installer"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

func main() {
	config.Main("numalet-containerd", telemetry.Version(), config.LoadContainerd, installer.Run)
}
