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
	// GetCommonEdits returns the mounts, hooks and other edits that every container
	// with GPUs needs.
	GetCommonEdits() (*cdi.ContainerEdits, error)
	// GetDeviceSpecsByID returns the CDI devices of the GPUs with these UUIDs. The name
	// of each device is the UUID.
	GetDeviceSpecsByID(ids ...string) ([]specs.Device, error)
}

// Source is an open session with the driver. It returns a Describer for the driver's GPUs.
type Source interface {
	Describer(Paths) (Describer, error)
}

// Paths says where the files are that containers need.
type Paths struct {
	Root     string // the driver's root directory in the file system of this process
	HostRoot string // the same directory on the host
	Hook     string // the path of nvidia-cdi-hook on the host; "" for no hooks
}

// Options are the options of NewSpecWriter.
type Options struct {
	Paths
	Kind string // the CDI kind of all devices, as vendor/class
	Dir  string // the directory of CDI specifications
}

// SpecWriter keeps one CDI specification up to date. It is not safe for concurrent use.
type SpecWriter struct {
	Options
	written string            // the summary (see the function `summary`) of the GPUs when the file was written last
	missing map[string]string // the GPUs that the file lacks: UUID to reason
	retry   bool              // whether a GPU without a known fault is missing from the file; the next call of Prepare then writes the file again, because the driver may be able to describe this GPU by then
}

// NewSpecWriter returns a SpecWriter. It writes nothing until Prepare is called.
func NewSpecWriter(o Options) *SpecWriter { return &SpecWriter{Options: o} }

// Prepare updates the CDI specification if necessary. It returns a copy of the inventory in which
// healthy GPUs that are not in the specification have unknown health. If there are no GPUs, Prepare
// removes the file of the specification. If there are GPUs but `driver` is nil, the file stays
// unchanged.
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

// summary returns a text that changes when the CDI specification may have to change.
// The text has the version of the driver, and the UUID of each GPU and whether it is
// unhealthy. It includes the health because the driver may be unable to describe an
// unhealthy GPU.
func summary(inventory *gpu.Inventory, units []gpu.Unit) string {
	lines := []string{inventory.Driver}
	for _, unit := range units {
		lines = append(lines, fmt.Sprint(unit.ID, unit.Health.State == gpu.Unhealthy))
	}
	return strings.Join(lines, "\n")
}

// upToDate reports whether the file of the CDI specification need not be written again.
// If a GPU without a known fault is missing from the file, upToDate returns false, so that
// each call of Prepare tries again to describe the GPU. The GPU may be missing because
// the files of the driver were not all installed yet at the last attempt.
func (w *SpecWriter) upToDate(now string) bool {
	if w.written != now || w.retry {
		return false
	}
	_, err := os.Stat(Path(w.Dir, w.Kind))
	return err == nil
}

// write writes the file of the CDI specification, and records in w.missing which GPUs
// are not in it.
func (w *SpecWriter) write(units []gpu.Unit, driver Source) {
	w.missing = map[string]string{}
	if err := w.writeSpec(units, driver); err != nil {
		for _, unit := range units {
			w.missing[unit.ID] = err.Error()
		}
	}
	w.retry = slices.ContainsFunc(units, func(unit gpu.Unit) bool { return w.missing[unit.ID] != "" && unit.Health.State != gpu.Unhealthy })
}
