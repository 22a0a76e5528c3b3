package nvml

import (
	"errors"
	"io/fs"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/internal/gpu/nvml/cdi"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/health"
)

// ErrAbsent means that the node has no library, or no driver: it has no usable
// GPUs.
var ErrAbsent = errors.New("no NVIDIA driver on this node")

// Driver is an open driver. Next may run concurrently with the other methods, which
// are not safe for concurrent use.
type Driver interface {
	// Inventory reads all GPUs, with unknown health. It returns the GPUs that it
	// can read and the joined errors of the others.
	Inventory() (*gpu.Inventory, error)
	// Probe reads the health of a GPU.
	Probe(device string) health.Probe
	// Next waits for an event of a GPU that Inventory has returned. It returns
	// false after the wait.
	Next(wait time.Duration) (health.Event, bool, error)
	// Describer describes the devices and files that containers need for the current
	// GPUs. It may be used until Close.
	Describer(cdi.Paths) (cdi.Describer, error)
	Close()
}

// Options of Open.
type Options struct {
	Library string // path or name of libnvidia-ml.so.1
	Machine fs.FS  // has sys, for the NUMA nodes of GPUs
	Log     logr.Logger
}
