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

// Describer says what containers need for GPUs. nvcdi.Interface is one.
type Describer interface {
	// GetCommonEdits is for every container, with whatever GPUs.
	GetCommonEdits() (*cdi.ContainerEdits, error)
	// GetDeviceSpecsByID is for GPUs by UUID, which also names them.
	GetDeviceSpecsByID(ids ...string) ([]specs.Device, error)
}

// Source is an open driver.
type Source interface {
	Describer(Paths) (Describer, error)
}

// Paths are where the files are that containers need.
type Paths struct {
	Root     string // the driver's root directory, as this process sees it
	HostRoot string // the same directory, as the host sees it
	Hook     string // nvidia-cdi-hook, as the host sees it; "" for no hooks
}

// Options is what a Keeper works with.
type Options struct {
	Paths
	Kind string // of all devices, vendor/class
	Dir  string // holds specifications
}

// Keeper keeps one specification up to date. It is not safe for concurrent use.
type Keeper struct {
	Options
	seen  string            // the GPUs, when the file was last written
	lack  map[string]string // those that are not in it, by UUID, and why
	again bool              // whether one of these may be described the next time
}

// NewKeeper returns a Keeper that has written nothing.
func NewKeeper(o Options) *Keeper { return &Keeper{Options: o} }

// Prepare brings the specification up to date, if it is not, and returns the
// inventory, in which GPUs that are not in it are of unknown health if they were
// healthy. Without GPUs there is no file. Without a driver (nil) it stays as it
// was.
func (k *Keeper) Prepare(v *gpu.Inventory, driver Source) *gpu.Inventory {
	units := v.Units()
	if now := summary(v, units); !k.current(now) && (driver != nil || len(units) == 0) {
		k.seen = now
		k.renew(units, driver)
	}
	return v.WithHealth(func(id string, was gpu.Health) gpu.Health {
		if why, lacks := k.lack[id]; lacks && was.State == gpu.Healthy {
			return gpu.Health{Reason: "no container can be given it as a CDI device: " + why}
		}
		return was
	})
}

// summary is all that a specification depends on, as far as one can tell without
// writing it. A GPU that breaks or is lost may have nothing to be described by.
func summary(v *gpu.Inventory, units []gpu.Unit) string {
	lines := []string{v.Driver}
	for _, u := range units {
		lines = append(lines, fmt.Sprint(u.ID, u.Health.State == gpu.Unhealthy))
	}
	return strings.Join(lines, "\n")
}

// current reports whether nothing has to be written. What lacks a GPU that is not
// broken is tried again each time: drivers are installed step by step.
func (k *Keeper) current(now string) bool {
	if k.seen != now || k.again {
		return false
	}
	_, err := os.Stat(Path(k.Dir, k.Kind))
	return err == nil
}

// renew writes the file anew, and notes which GPUs it lacks.
func (k *Keeper) renew(units []gpu.Unit, driver Source) {
	k.lack = map[string]string{}
	if err := k.specify(units, driver); err != nil {
		for _, u := range units {
			k.lack[u.ID] = err.Error()
		}
	}
	k.again = slices.ContainsFunc(units, func(u gpu.Unit) bool { return k.lack[u.ID] != "" && u.Health.State != gpu.Unhealthy })
}
