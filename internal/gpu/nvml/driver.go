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

// ErrAbsent says that the node has no library, or no driver that it could talk
// to: as far as anybody can tell it has no GPUs.
var ErrAbsent = errors.New("no NVIDIA driver on this node")

// Driver is an open driver. Next may run beside the other methods, which are not
// safe for concurrent use.
type Driver interface {
	// Inventory reads all cards, with their health unknown. What cannot be read
	// is in the error, joined, and the cards that can be are returned.
	Inventory() (*gpu.Inventory, error)
	// Probe asks how a card is.
	Probe(card string) health.Probe
	// Next waits for an event of a card that an Inventory has returned; false
	// when none came in time.
	Next(wait time.Duration) (health.Event, bool, error)
	// Describer says what containers need for the cards that there are now. It may
	// be used until Close.
	Describer(cdi.Paths) (cdi.Describer, error)
	Close()
}

// Options says where a driver is to be found.
type Options struct {
	Library string // path or name of libnvidia-ml.so.1
	Machine fs.FS  // holds sys, for what NUMA node a card is on
	Log     logr.Logger
}
