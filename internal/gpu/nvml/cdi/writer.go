package cdi

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/numalet/numalet/pkg/gpu"
)

// Describer describes what containers need for GPUs. nvcdi.Interface implements it.
type Describer interface {
	// GetCommonEdits returns what every container with GPUs needs.
	GetCommonEdits() (*cdi.ContainerEdits, error)
	// GetDeviceSpecsByID returns the devices of GPUs by UUID, which is also their name.
	GetDeviceSpecsByID(ids ...string) ([]specs.Device, error)
}

// Source is an open driver.
type Source interface {
	Describer(Paths) (Describer, error)
}

// Paths of the files that containers need.
type Paths struct {
	Root     string // the driver's root directory in the file system of this process
	HostRoot string // the same directory on the host
	Hook     string // nvidia-cdi-hook on the host; "" for no hooks
}

// Options of NewSpecWriter.
type Options struct {
	Paths
	Kind string // of all devices: vendor/class
	Dir  string // for specifications
}

// SpecWriter keeps one specification up to date. It is not safe for concurrent use.
type SpecWriter struct {
	Options
	written string            // the summary of the GPUs in the file
	missing map[string]string // the GPUs that the file lacks: UUID to reason
	retry   bool              // one of these may succeed the next time
}

// NewSpecWriter returns a SpecWriter that has not written yet.
func NewSpecWriter(o Options) *SpecWriter { return &SpecWriter{Options: o} }

// Prepare updates the specification if necessary. It returns the inventory, in which
// healthy GPUs that the specification lacks have unknown health. Without GPUs there
// is no file. Without a driver (nil) the file stays unchanged.
func (w *SpecWriter) Prepare(inventory *gpu.Inventory, driver Source) *gpu.Inventory {
	units := inventory.Units()
	if now := summary(inventory, units); !w.upToDate(now) && (driver != nil || len(units) == 0) {
		w.written = now
		w.write(units, driver)
	}
	return inventory.WithHealth(func(id string, was gpu.Health) gpu.Health {
		if why, missing := w.missing[id]; missing && was.State == gpu.Healthy {
			return gpu.Health{Reason: "the CDI specification does not have this GPU: " + why}
		}
		return was
	})
}

// summary returns what a specification depends on, as far as that is known before
// it is written. A GPU that fails or is lost may not be describable.
func summary(inventory *gpu.Inventory, units []gpu.Unit) string {
	lines := []string{inventory.Driver}
	for _, unit := range units {
		lines = append(lines, fmt.Sprint(unit.ID, unit.Health.State == gpu.Unhealthy))
	}
	return strings.Join(lines, "\n")
}

// upToDate reports whether nothing has to be written. A file that lacks a GPU without
// a fault is written again each time, because a driver is installed in steps.
func (w *SpecWriter) upToDate(now string) bool {
	if w.written != now || w.retry {
		return false
	}
	_, err := os.Stat(Path(w.Dir, w.Kind))
	return err == nil
}

// write writes the file and records which GPUs it lacks.
func (w *SpecWriter) write(units []gpu.Unit, driver Source) {
	w.missing = map[string]string{}
	if err := w.writeSpec(units, driver); err != nil {
		for _, unit := range units {
			w.missing[unit.ID] = err.Error()
		}
	}
	w.retry = slices.ContainsFunc(units, func(unit gpu.Unit) bool { return w.missing[unit.ID] != "" && unit.Health.State != gpu.Unhealthy })
}
