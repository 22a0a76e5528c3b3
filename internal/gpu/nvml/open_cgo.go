//go:build cgo

package nvml

import (
	"fmt"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// driver implements Driver with NVML.
type driver struct {
	Options
	lib    nvml.Interface
	events nvml.EventSet

	mu struct {
		sync.Mutex
		watched map[nvml.Device]string // UUIDs of the GPUs whose events are registered
	}
}

// Open loads and initializes NVML. The error wraps ErrAbsent if NVML or the driver is
// missing.
func Open(o Options) (Driver, error) {
	d := &driver{Options: o, lib: nvml.New(nvml.WithLibraryPath(o.Library))}
	if d.MemoryErrors == nil {
		d.MemoryErrors = map[string]uint64{}
	}
	d.mu.watched = map[nvml.Device]string{}
	switch ret := d.lib.Init(); ret {
	case nvml.SUCCESS:
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, fmt.Errorf("%w: %s cannot be loaded", ErrAbsent, o.Library)
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return nil, fmt.Errorf("%w: %s exists, but the kernel driver is not loaded", ErrAbsent, o.Library)
	default:
		return nil, fmt.Errorf("initialize %s: %w", o.Library, ret)
	}
	events, ret := d.lib.EventSetCreate()
	if ret != nvml.SUCCESS {
		d.lib.Shutdown()
		return nil, fmt.Errorf("create event set: %w", ret)
	}
	d.events = events
	return d, nil
}

// Close ends the session with the driver. No call of Next may be in progress.
func (d *driver) Close() {
	d.events.Free()
	d.lib.Shutdown()
}
