package cdi

import (
	"fmt"
	"os"
	"strings"

	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi/spec"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi/transform/root"
	securejoin "github.com/cyphar/filepath-securejoin"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/pkg/parser"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/numalet/numalet/pkg/gpu"
)

// specify writes the file of all GPUs that can be described, and notes the
// others. There is no file of none.
func (k *Keeper) specify(units []gpu.Unit, driver Source) error {
	if len(units) == 0 {
		return remove(Path(k.Dir, k.Kind))
	}
	if err := k.checkHook(); err != nil {
		return err
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

// checkHook says whether the hooks' program is missing, without which no container
// with GPUs starts. It is seen only where the whole host is.
func (k *Keeper) checkHook() error {
	if k.Hook == "" || k.HostRoot != "/" {
		return nil
	}
	path, err := securejoin.SecureJoin(k.Root, k.Hook)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return fmt.Errorf("find the hooks' program on the host: %w; install NVIDIA's container toolkit (package nvidia-container-toolkit-base), or name its nvidia-cdi-hook in --gpu-cdi-hook", err)
	}
	return nil
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
