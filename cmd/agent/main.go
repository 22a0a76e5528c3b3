// Command numalet-agent pins containers to exclusive CPUs on one node.
package main

import (
	"github.com/numalet/numalet/internal/agent"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

func main() {
	config.Main("numalet-agent", telemetry.Version(), config.LoadAgent, agent.Run)
}
