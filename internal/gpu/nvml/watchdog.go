package nvml

import (
	"fmt"
	"sync"
	"time"

	"github.com/numalet/numalet/internal/gpu/nvml/cdi"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/health"
)

// hungAfter is how long a call of the driver may take before it counts as hung. On a
// node without NVIDIA's persistence daemon, the first call initializes all GPUs, which
// takes a minute for 16 GPUs.
const hungAfter = 3 * time.Minute

// watchdog records which calls of the driver, and of MonitorOptions.Prepare, have not
// returned yet.
type watchdog struct {
	now func() time.Time
	mu  struct {
		sync.Mutex
		began map[string]time.Time // when each call began, by its name; no two calls of one name run at the same time
	}
}

func newWatchdog(now func() time.Time) *watchdog {
	w := &watchdog{now: now}
	w.mu.began = map[string]time.Time{}
	return w
}

// watch records that a call is in progress, until the returned function is called.
func (w *watchdog) watch(call string) (returned func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.began[call] = w.now()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.mu.began, call)
	}
}

// live returns an error if a call has been in progress for the duration hungAfter or longer.
func (w *watchdog) live() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for call, began := range w.mu.began {
		if took := w.now().Sub(began); took >= hungAfter {
			return fmt.Errorf("NVIDIA's library has not returned from %s for %s; if a restart of this container does not help, drain and reboot the node", call, took.Round(time.Second))
		}
	}
	return nil
}

// open opens a driver with the function in its parameter `open`. The watchdog records the call of
// this function, and each call of the returned Driver.
func (w *watchdog) open(open func() (Driver, error)) (Driver, error) {
	defer w.watch("opening the driver")()
	d, err := open()
	if err != nil {
		return nil, err
	}
	return watchedDriver{d, w}, nil
}

// watchedDriver is a Driver whose calls a watchdog records.
type watchedDriver struct {
	Driver
	dog *watchdog
}

func (d watchedDriver) Inventory() (*gpu.Inventory, error) {
	defer d.dog.watch("reading the GPUs")()
	return d.Driver.Inventory()
}

func (d watchedDriver) Probe(device string) health.Probe {
	defer d.dog.watch("reading the health of " + device)()
	return d.Driver.Probe(device)
}

func (d watchedDriver) Next(wait time.Duration) (health.Event, bool, error) {
	defer d.dog.watch("waiting for an event")()
	return d.Driver.Next(wait)
}

func (d watchedDriver) Describer(p cdi.Paths) (cdi.Describer, error) {
	defer d.dog.watch("describing the GPUs")()
	return d.Driver.Describer(p)
}

func (d watchedDriver) Close() {
	defer d.dog.watch("closing the driver")()
	d.Driver.Close()
}
