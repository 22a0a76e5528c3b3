//go:build cgo

package nvml

import (
	"fmt"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// driver is a Driver over the library.
type driver struct {
	Options
	lib    nvml.Interface
	events nvml.EventSet
	errors map[string]uint64 // memory errors since a card's last reset, as of its last probe

	mu struct {
		sync.Mutex
		watched map[nvml.Device]string // UUIDs of the cards whose events come
	}
}

// Open loads the library and starts it. The error wraps ErrAbsent where there is
// none, or no driver behind it.
func Open(o Options) (Driver, error) {
	d := &driver{Options: o, lib: nvml.New(nvml.WithLibraryPath(o.Library)), errors: map[string]uint64{}}
	d.mu.watched = map[nvml.Device]string{}
	switch ret := d.lib.Init(); ret {
	case nvml.SUCCESS:
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, fmt.Errorf("%w: %s cannot be loaded", ErrAbsent, o.Library)
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return nil, fmt.Errorf("%w: %s is there, but its kernel driver is not loaded", ErrAbsent, o.Library)
	default:
		return nil, fmt.Errorf("start %s: %w", o.Library, ret)
	}
	events, ret := d.lib.EventSetCreate()
	if ret != nvml.SUCCESS {
		d.lib.Shutdown()
		return nil, fmt.Errorf("create event set: %w", ret)
	}
	d.events = events
	return d, nil
}

// Close ends the session with the driver. Next must not be under way.
func (d *driver) Close() {
	d.events.Free()
	d.lib.Shutdown()
}
