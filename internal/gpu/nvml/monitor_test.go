package nvml

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/topology"
)

// TestAbsentIsSaidOnce looks three times at a node without a driver.
func TestAbsentIsSaidOnce(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	tick, published := make(chan time.Time), 0
	monitor := NewMonitor(MonitorOptions{
		Open: func() (Driver, error) { return nil, ErrAbsent }, Tick: tick, Now: time.Now, Log: log,
		Publish: func(v *gpu.Inventory) {
			published++
			if len(v.Cards) > 0 {
				t.Errorf("%d cards without a driver", len(v.Cards))
			}
		},
	})
	done := make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	go func() { done <- monitor.Run(ctx) }()
	tick <- time.Time{}
	tick <- time.Time{}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	want := []string{`"level"=0 "msg"="no GPUs" "reason"="no NVIDIA driver on this node"`}
	if diff := cmp.Diff(want, lines); diff != "" || published < 2 {
		t.Errorf("published %d times; lines (-want +got):\n%s", published, diff)
	}
}

// TestLibraryThatDoesNotStart ends the process, which the kubelet starts anew.
func TestLibraryThatDoesNotStart(t *testing.T) {
	stale := errors.New("start libnvidia-ml.so.1: RM has detected an NVML/RM version mismatch.")
	monitor := NewMonitor(MonitorOptions{Open: func() (Driver, error) { return nil, stale }})
	if err := monitor.Run(t.Context()); !errors.Is(err, stale) {
		t.Errorf("Run: %v", err)
	}
}

func TestOnlyNode(t *testing.T) {
	for name, tc := range map[string]struct {
		mask []uint
		want topology.NodeID
	}{
		"none":         {nil, topology.Unknown},
		"first":        {[]uint{1}, 0},
		"second word":  {[]uint{0, 1 << 3}, 67},
		"two":          {[]uint{1 << 2, 1}, topology.Unknown},
		"two together": {[]uint{3}, topology.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := onlyNode(tc.mask); got != tc.want {
				t.Errorf("onlyNode(%v) = %d, want %d", tc.mask, got, tc.want)
			}
		})
	}
}
