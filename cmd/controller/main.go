// Command numalet-controller schedules pods: it decides node and NUMA nodes
// together and binds both in one write.
package main

import (
	"os"
	"runtime/debug"

	"github.com/numalet/numalet/internal/controller"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// gcPercent is how much the heap may grow, in per cent of what lives, before it is
// collected. Little lives here, some kilobytes a node and a pod, and much is read,
// looked at and dropped: with the runtime's 100 collecting took a tenth of the
// time of a bind. GOGC and GOMEMLIMIT overrule it.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	config.Main("numalet-controller", telemetry.Version(), config.LoadController, controller.Run)
}
