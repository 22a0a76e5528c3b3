// Command numalet-containerd makes the containerd of one node require the agent, or takes that back.
package main

import (
	"github.com/numalet/numalet/internal/agent/installer"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

func main() {
	config.Main("numalet-containerd", telemetry.Version(), config.LoadContainerd, installer.Run)
}
