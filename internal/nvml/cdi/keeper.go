package cdi

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi/spec"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi/transform/root"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/pkg/parser"
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
		k.seen, k.lack = now, map[string]string{}
		if err := k.renew(units, driver); err != nil {
			for _, u := range units {
				k.lack[u.ID] = err.Error()
			}
		}
		k.again = slices.ContainsFunc(units, func(u gpu.Unit) bool { return k.lack[u.ID] != "" && u.Health.State != gpu.Unhealthy })
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

// renew writes the file of all GPUs that can be described, and notes the others.
func (k *Keeper) renew(units []gpu.Unit, driver Source) error {
	if len(units) == 0 {
		return remove(Path(k.Dir, k.Kind))
	}
	describer, err := driver.Describer(k.Paths)
	if err != nil {
		return fmt.Errorf("describe the driver under %s: %w", k.Root, err)
	}
	devices := k.devices(units, describer)
	if len(devices) == 0 {
		return remove(Path(k.Dir, k.Kind))
	}
	common, err := describer.GetCommonEdits()
	if err != nil {
		return fmt.Errorf("find the driver's files under %s: %w; --driver-root has to hold all of the driver, not its libraries only", k.Root, err)
	}
	return k.write(devices, common)
}

// devices describes GPUs one by one, so that one that is lost does not keep the
// others from being given away.
func (k *Keeper) devices(units []gpu.Unit, describer Describer) []specs.Device {
	var all []specs.Device
	for _, u := range units {
		described, err := describer.GetDeviceSpecsByID(u.ID)
		if err == nil {
			err = k.check(u, described)
		}
		if err != nil {
			k.lack[u.ID] = err.Error()
			continue
		}
		all = append(all, described...)
	}
	return all
}

// check says what a GPU's description lacks. nvcdi leaves out what it does not
// find: of a card its node, of a slice that too, or one of its two capabilities.
func (k *Keeper) check(u gpu.Unit, described []specs.Device) error {
	if len(described) != 1 || described[0].Name != u.ID {
		return fmt.Errorf("it is described as %d devices, want one named %s", len(described), u.ID)
	}
	want := 1
	if u.Form == gpu.Virtual {
		want = 3
	}
	if got := len(described[0].ContainerEdits.DeviceNodes); got < want {
		return fmt.Errorf("%d of its %d device nodes are under %s/dev: start nvidia-persistenced, or call nvidia-smi, on the host, which make them", got, want, strings.TrimSuffix(k.Root, "/"))
	}
	return nil
}

// write puts the file in place in one step. Paths in it are the host's.
func (k *Keeper) write(devices []specs.Device, common *cdi.ContainerEdits) error {
	vendor, class := parser.ParseQualifier(k.Kind)
	s, err := spec.New(spec.WithVendor(vendor), spec.WithClass(class), spec.WithFormat(spec.FormatJSON),
		spec.WithDeviceSpecs(devices), spec.WithEdits(*common.ContainerEdits))
	if err != nil {
		return fmt.Errorf("make CDI specification: %w", err)
	}
	toHost := root.NewDriverTransformer(root.WithDriverRoot(k.Root), root.WithTargetDriverRoot(k.HostRoot))
	if err := toHost.Transform(s.Raw()); err != nil {
		return fmt.Errorf("turn paths under %s to the host's: %w", k.Root, err)
	}
	if err := s.Save(Path(k.Dir, k.Kind)); err != nil {
		return fmt.Errorf("write CDI specification into --gpu-cdi-dir: %w; the host's directory has to be mounted there, writable", err)
	}
	return nil
}
