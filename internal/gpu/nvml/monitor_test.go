package nvml

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/health"
	"github.com/numalet/numalet/pkg/topology"
)

// TestAbsentIsSaidOnce checks that a missing driver is logged only once, even if the monitor
// tries several times to open it.
func TestAbsentIsSaidOnce(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	tick, published := make(chan time.Time), 0
	monitor := NewMonitor(MonitorOptions{
		Open: func() (Driver, error) { return nil, ErrAbsent }, Tick: tick, Now: time.Now, Log: log,
		Publish: func(inventory *gpu.Inventory) {
			published++
			if len(inventory.GPUs) > 0 {
				t.Errorf("%d GPUs without a driver", len(inventory.GPUs))
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

// TestLibraryThatDoesNotStart checks that Run returns an error if NVML cannot be
// initialized. The process then ends, and the kubelet restarts it.
func TestLibraryThatDoesNotStart(t *testing.T) {
	stale := errors.New("start libnvidia-ml.so.1: RM has detected an NVML/RM version mismatch.")
	monitor := NewMonitor(MonitorOptions{Open: func() (Driver, error) { return nil, stale }, Now: time.Now})
	if err := monitor.Run(t.Context()); !errors.Is(err, stale) {
		t.Errorf("Run: %v", err)
	}
}

// device returns a GPU of a fake inventory. The GPU is in MIG mode if it has slices.
func device(uuid string, index int, slices ...string) gpu.GPU {
	c := gpu.GPU{UUID: uuid, Index: index, MIG: len(slices) > 0}
	for _, slice := range slices {
		c.Slices = append(c.Slices, gpu.Slice{UUID: slice})
	}
	return c
}

// listed is a fake driver whose list of GPUs the test changes.
type listed struct {
	Driver
	gpus []gpu.GPU
	err  error
}

func (l *listed) Inventory() (*gpu.Inventory, error) { return &gpu.Inventory{GPUs: l.gpus}, l.err }
func (l *listed) Close()                             {}
func (l *listed) Next(wait time.Duration) (health.Event, bool, error) {
	time.Sleep(wait)
	return health.Event{}, false, nil
}
func (l *listed) Probe(uuid string) health.Probe {
	_, answers := (&gpu.Inventory{GPUs: l.gpus}).Find(uuid)
	return health.Probe{Answers: answers}
}

// TestLostGPUFreezesNoOther creates and destroys slices of one GPU while another GPU is lost. The
// inventory must still show the changes of the slices.
func TestLostGPUFreezesNoOther(t *testing.T) {
	var units []string
	monitor := NewMonitor(MonitorOptions{Now: time.Now, Log: funcr.New(func(_, _ string) {}, funcr.Options{}), Publish: func(inventory *gpu.Inventory) {
		units = nil
		for _, unit := range inventory.Units() {
			units = append(units, unit.ID+" "+unit.Health.State.String())
		}
	}})
	driver := &listed{}
	for _, step := range []struct {
		gpus []gpu.GPU
		err  error
		want []string
	}{
		{gpus: []gpu.GPU{device("a", 0), device("m", 1, "m1", "m2")}, want: []string{"a Healthy", "m1 Healthy", "m2 Healthy"}},
		{gpus: []gpu.GPU{device("m", 1, "m1", "m2")}, err: errors.New("read GPU 0: GPU is lost"), want: []string{"a Unhealthy", "m1 Healthy", "m2 Healthy"}},
		{gpus: []gpu.GPU{device("m", 1, "m2", "m3")}, err: errors.New("read GPU 0: GPU is lost"), want: []string{"a Unhealthy", "m2 Healthy", "m3 Healthy"}},
		{gpus: []gpu.GPU{device("m", 0, "m3"), device("n", 1)}, want: []string{"a Unhealthy", "m3 Healthy", "n Healthy"}},
		{gpus: []gpu.GPU{device("a", 0), device("m", 1, "m3"), device("n", 2)}, want: []string{"a Healthy", "m3 Healthy", "n Healthy"}},
	} {
		driver.gpus, driver.err = step.gpus, step.err
		monitor.poll(driver)
		if diff := cmp.Diff(step.want, units); diff != "" {
			t.Errorf("units (-want +got):\n%s", diff)
		}
	}
}

// losing is a fake driver whose only GPU answers until a time, and never again. It records in
// `opened` and `closed` when sessions with it begin and end.
type losing struct {
	Driver
	until          time.Time
	opened, closed []string
	since          func() string // the time since the start of the test
}

func (l *losing) open() (Driver, error) {
	l.opened = append(l.opened, l.since())
	return l, nil
}
func (l *losing) Close() { l.closed = append(l.closed, l.since()) }
func (l *losing) Inventory() (*gpu.Inventory, error) {
	return &gpu.Inventory{GPUs: []gpu.GPU{device("a", 0)}}, nil
}
func (l *losing) Probe(string) health.Probe { return health.Probe{Answers: time.Now().Before(l.until)} }
func (l *losing) Next(time.Duration) (health.Event, bool, error) {
	time.Sleep(time.Millisecond)
	return health.Event{}, false, nil
}

// TestLostForGood checks that NVML is initialized again and again while a GPU is lost, at growing
// intervals. NVML must be open nearly all the time, because no GPU is monitored while it is closed.
func TestLostForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		driver := &losing{until: start.Add(5 * time.Second), since: func() string { return time.Since(start).Truncate(time.Second).String() }}
		monitor := NewMonitor(MonitorOptions{Open: driver.open, Tick: time.Tick(10 * time.Second), Now: time.Now, Publish: func(*gpu.Inventory) {}})
		ctx, stop := context.WithTimeout(t.Context(), 40*time.Minute)
		defer stop()
		if err := monitor.Run(ctx); err != nil {
			t.Fatal(err)
		}
		again := []string{"1m0s", "2m50s", "6m40s", "14m30s", "24m20s", "34m10s"}
		if diff := cmp.Diff(append([]string{"0s"}, again...), driver.opened); diff != "" {
			t.Errorf("times at which NVML was initialized (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(append(again, "40m0s"), driver.closed); diff != "" {
			t.Errorf("times at which NVML was closed (-want +got):\n%s", diff)
		}
	})
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
