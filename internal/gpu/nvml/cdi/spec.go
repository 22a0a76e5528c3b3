package cdi

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi/spec"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi/transform/root"
	securejoin "github.com/cyphar/filepath-securejoin"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/pkg/parser"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/numalet/numalet/pkg/gpu"
)

// writeSpec writes the CDI specification with all GPUs that the driver can describe,
// and records the other GPUs in w.missing. If there are no GPUs to write, it removes
// the file.
func (w *SpecWriter) writeSpec(units []gpu.Unit, driver Source) error {
	if len(units) == 0 {
		return remove(Path(w.Dir, w.Kind))
	}
	if err := w.checkHook(); err != nil {
		return err
	}
	describer, err := driver.Describer(w.Paths)
	if err != nil {
		return fmt.Errorf("read the driver under %s: %w", w.Root, err)
	}
	devices := w.devices(units, describer)
	if len(devices) == 0 {
		return remove(Path(w.Dir, w.Kind))
	}
	common, err := describer.GetCommonEdits()
	if err != nil {
		return fmt.Errorf("find the driver's files under %s: %w; --driver-root must have the whole driver, not only its libraries", w.Root, err)
	}
	if err := w.checkCommon(common); err != nil {
		return err
	}
	return w.save(devices, common)
}

// checkHook returns an error if the program that the hooks run (nvidia-cdi-hook) is missing on the
// host. Without this program, no container with GPUs would start. If the mounted driver root is not
// the root directory of the host, the program may be outside of the mounted directory, where this
// process cannot see it. checkHook then checks nothing.
func (w *SpecWriter) checkHook() error {
	if w.Hook == "" || w.HostRoot != "/" {
		return nil
	}
	path, err := securejoin.SecureJoin(w.Root, w.Hook)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return fmt.Errorf("find the program for CDI hooks on the host: %w; install NVIDIA's container toolkit (package nvidia-container-toolkit-base), or set --gpu-cdi-hook to the path of nvidia-cdi-hook", err)
	}
	return nil
}

// devices returns the CDI devices of the GPUs. It describes them one by one, so that an
// error of one GPU does not affect the others.
func (w *SpecWriter) devices(units []gpu.Unit, describer Describer) []specs.Device {
	var all []specs.Device
	for _, unit := range units {
		described, err := describer.GetDeviceSpecsByID(unit.ID)
		if err == nil {
			err = w.check(unit, described)
		}
		if err != nil {
			w.missing[unit.ID] = err.Error()
			continue
		}
		all = append(all, described...)
	}
	return all
}

// check returns an error if nvcdi's description of a GPU is incomplete. nvcdi leaves out
// device files that it does not find. A GPU has one device file. A MIG slice also needs two files
// of /dev/nvidia-caps: one for its GPU instance, and one for its compute instance.
func (w *SpecWriter) check(unit gpu.Unit, described []specs.Device) error {
	if len(described) != 1 || described[0].Name != unit.ID {
		return fmt.Errorf("nvcdi describes it as %d devices; want one with the name %s", len(described), unit.ID)
	}
	want := 1
	if unit.Form == gpu.Virtual {
		want = 3
	}
	if got := len(described[0].ContainerEdits.DeviceNodes); got < want {
		return fmt.Errorf("%d of its %d device nodes are under %s/dev; start nvidia-persistenced or run nvidia-smi on the host, which creates them", got, want, strings.TrimSuffix(w.Root, "/"))
	}
	return nil
}

// commonFiles are the device files that every container with GPUs needs, whichever GPUs it has.
// Without them, CUDA cannot be initialized.
var commonFiles = []string{"/dev/nvidiactl", "/dev/nvidia-uvm"}

// checkCommon returns an error if nvcdi's description of what every container needs is incomplete.
// nvcdi leaves out device files that it does not find. After a boot, the driver may create
// /dev/nvidia-uvm later than the device files of the GPUs.
func (w *SpecWriter) checkCommon(common *cdi.ContainerEdits) error {
	for _, path := range commonFiles {
		if !slices.ContainsFunc(common.DeviceNodes, func(node *specs.DeviceNode) bool { return node.Path == path }) {
			return fmt.Errorf("there is no device file %s; run nvidia-smi and nvidia-modprobe -c 0 -u on the host, which create it", strings.TrimSuffix(w.Root, "/")+path)
		}
	}
	return nil
}

// save writes the CDI specification atomically. In the specification, it replaces paths
// under the mounted driver root by the paths of the same files on the host.
func (w *SpecWriter) save(devices []specs.Device, common *cdi.ContainerEdits) error {
	vendor, class := parser.ParseQualifier(w.Kind)
	s, err := spec.New(spec.WithVendor(vendor), spec.WithClass(class), spec.WithFormat(spec.FormatJSON),
		spec.WithDeviceSpecs(devices), spec.WithEdits(*common.ContainerEdits))
	if err != nil {
		return fmt.Errorf("create the CDI specification: %w", err)
	}
	toHost := root.NewDriverTransformer(root.WithDriverRoot(w.Root), root.WithTargetDriverRoot(w.HostRoot))
	if err := toHost.Transform(s.Raw()); err != nil {
		return fmt.Errorf("translate paths under %s to those of the host: %w", w.Root, err)
	}
	if err := s.Save(Path(w.Dir, w.Kind)); err != nil {
		return fmt.Errorf("write the CDI specification into --gpu-cdi-dir: %w; mount the host's directory there with write access", err)
	}
	return nil
}
