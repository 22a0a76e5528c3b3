// Command numalet-controller schedules pods: it chooses the node and its NUMA nodes
// together, and writes both with the binding.
package main

import (
	"os"
	"runtime/debug"

	"github.com/numalet/numalet/internal/controller"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// gcPercent is GOGC, unless the environment sets it: how much the heap may grow before a
// garbage collection, in percent of the live heap. The live heap is small, a few
// kilobytes per node and pod, while most memory is short-lived. With the default of 100,
// garbage collection took a tenth of the time of a binding. GOMEMLIMIT still applies.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	config.Main("numalet-controller", telemetry.Version(), config.LoadController, controller.Run)
}
