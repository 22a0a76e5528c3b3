// Command numalet-controller schedules pods. For each pod, it chooses a node, and the
// NUMA nodes and GPUs of that node. It writes these choices when it binds the pod.
package main

import (
	"os"
	"runtime/debug"

	"github.com/numalet/numalet/internal/controller"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// gcPercent is used if the environment variable GOGC is not set. It says how much the heap may grow
// before the next garbage collection, in percent of the live heap. With Go's default of 100,
// garbage collection took a tenth of the CPU time that binding a pod takes. The larger value costs
// little memory: the live heap is small, a few kilobytes for each node and each pod, because most
// memory is short-lived. GOMEMLIMIT still applies.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	config.Main("numalet-controller", telemetry.Version(), config.LoadController, controller.Run)
}
