package nvml

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/pkg/gpu"
)

// stuck is a fake driver whose method Inventory does not return until the test closes
// the channel in the field `release`.
type stuck struct {
	listed
	release chan struct{}
}

func (s *stuck) Inventory() (*gpu.Inventory, error) {
	<-s.release
	return s.listed.Inventory()
}

// TestHungLibrary checks that Live returns an error while a call of the driver hangs,
// and returns nil again after the call has returned.
func TestHungLibrary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := &stuck{release: make(chan struct{})}
		driver.err = ErrAbsent
		tick := make(chan time.Time)
		monitor := NewMonitor(MonitorOptions{
			Open: func() (Driver, error) { return driver, nil }, Tick: tick, Now: time.Now, Log: logr.Discard(), Publish: func(*gpu.Inventory) {},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- monitor.Run(ctx) }()
		time.Sleep(hungAfter - time.Second)
		synctest.Wait()
		if err := monitor.Live(); err != nil {
			t.Errorf("a slow call: %v", err)
		}
		time.Sleep(time.Second)
		if err := monitor.Live(); err == nil || !strings.Contains(err.Error(), "has not returned from reading the GPUs for 3m0s") {
			t.Errorf("a call that hangs: %v", err)
		}
		close(driver.release)
		synctest.Wait()
		if err := monitor.Live(); err != nil {
			t.Errorf("the call has returned: %v", err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
