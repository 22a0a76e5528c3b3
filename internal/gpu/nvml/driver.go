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

// ErrAbsent means that the NVML library or the driver is not on the node, so that the
// node has no usable GPUs.
var ErrAbsent = errors.New("no NVIDIA driver on this node")

// Driver is an open session with the NVIDIA driver. Next may run at the same time as any other
// method except Close. Apart from this, only one method may run at a time.
type Driver interface {
	// Inventory returns the GPUs that the driver can read, with unknown health. It also
	// returns the joined errors of GPUs that cannot be read, or whose events cannot be
	// received.
	Inventory() (*gpu.Inventory, error)
	// Probe reads the health of a GPU.
	Probe(device string) health.Probe
	// Next waits for an event of a GPU that Inventory has returned. It returns false if
	// no event comes within the duration `wait`.
	Next(wait time.Duration) (health.Event, bool, error)
	// Describer returns a cdi.Describer, which describes the devices and files that
	// containers need for the current GPUs. The cdi.Describer may be used until Close.
	Describer(cdi.Paths) (cdi.Describer, error)
	Close()
}

// Options are the options of Open.
type Options struct {
	Library string // path or name of libnvidia-ml.so.1
	Machine fs.FS  // the machine's root directory; its directory /sys has the NUMA nodes of GPUs
	Log     logr.Logger
	// MemoryErrors has the number of uncorrected memory errors of each GPU since its last reset, by
	// UUID, as of the last probe. The Driver updates it. If the next Driver gets the same map, it
	// also finds resets between the two sessions. A nil map lets Open create one.
	MemoryErrors map[string]uint64
}
