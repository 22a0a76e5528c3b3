//go:build cgo

package nvml

import (
	"fmt"

	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi"
	"github.com/go-logr/logr"

	"github.com/numalet/numalet/internal/gpu/nvml/cdi"
)

// Describer returns the Describer of NVIDIA's container toolkit (nvcdi), which uses the
// NVML session of this driver. It does not use the library nvsandboxutils of newer
// drivers, because NVML already provides the same information.
func (d *driver) Describer(p cdi.Paths) (cdi.Describer, error) {
	names, err := nvcdi.NewDeviceNamer(nvcdi.DeviceNameStrategyUUID)
	if err != nil {
		return nil, err
	}
	options := []nvcdi.Option{
		nvcdi.WithMode(nvcdi.ModeNvml), nvcdi.WithNvmlLib(d.lib), nvcdi.WithDriverRoot(p.Root),
		nvcdi.WithDeviceNamers(names), nvcdi.WithNVIDIACDIHookPath(p.Hook),
		nvcdi.WithFeatureFlags(nvcdi.FeatureDisableNvsandboxUtils), nvcdi.WithLogger(describerLog{d.Log}),
	}
	if p.Hook == "" {
		options = append(options, nvcdi.WithDisabledHooks(nvcdi.AllHooks))
	}
	return nvcdi.New(options...)
}

// describerLog passes the messages of nvcdi to logr at a higher verbosity level,
// because nvcdi warns about each optional file that is missing.
type describerLog struct{ logr.Logger }

func (l describerLog) Errorf(format string, args ...any)   { l.say(2, format, args) }
func (l describerLog) Warningf(format string, args ...any) { l.say(4, format, args) }
func (l describerLog) Infof(format string, args ...any)    { l.say(4, format, args) }
func (l describerLog) Debugf(format string, args ...any)   { l.say(6, format, args) }
func (l describerLog) Tracef(format string, args ...any)   { l.say(6, format, args) }

func (l describerLog) say(level int, format string, args []any) {
	if log := l.V(level); log.Enabled() {
		log.Info("describe GPUs", "nvcdi", fmt.Sprintf(format, args...))
	}
}
