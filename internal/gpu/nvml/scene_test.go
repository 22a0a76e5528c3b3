//go:build cgo

package nvml

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/test/fakenvml"
)

// TestScenarios runs the commands of testdata/*.txt and compares what they print. It
// tests the monitor and go-nvml with a fake of NVML. A GPU stays unhealthy for at least
// a minute after a fault, unless it is reset.
//
//	machine eight         replaces the fake's layout, which is empty at first, with eight.layout
//	write LINE            adds a line to the layout (test/fakenvml)
//	sysfs ADDRESS NODE    sets the NUMA node of a GPU in sysfs
//	unload                unloads the kernel driver
//	start                 starts the monitor
//	inject LINE           adds a line to the fake's file of events. If the line makes the fake send
//	                      an event, it prints how the event changed the inventory
//	look [30s]            lets a time pass, if one is given. Then it polls all GPUs, and
//	                      prints what changed
//	reopened              waits for the poll after NVML was closed and initialized again, which no
//	                      tick triggers. Then it prints what changed
//	inventory             prints the inventory
//	links                 prints the links between the GPUs
func TestScenarios(t *testing.T) {
	fake := fakenvml.New(t, fakenvml.Eight)
	scenario.Walk(t, func(t *testing.T, _ *scenario.Answer) scenario.Commands { return newScene(t, fake).commands() })
}

// scene is one simulated machine and its monitor.
type scene struct {
	t         *testing.T
	fake      *fakenvml.Fake
	machine   fstest.MapFS
	tick      chan time.Time
	published chan *gpu.Inventory
	passed    atomic.Int64 // nanoseconds since the start
	inventory *gpu.Inventory
}

func newScene(t *testing.T, fake *fakenvml.Fake) *scene {
	fake.Layout("")
	return &scene{
		t: t, fake: fake, machine: fstest.MapFS{}, inventory: &gpu.Inventory{},
		tick: make(chan time.Time), published: make(chan *gpu.Inventory),
	}
}

// commands returns the commands that a scenario file can use.
func (s *scene) commands() scenario.Commands {
	return scenario.Commands{
		"machine":   func(c *scenario.Command) { s.fake.Layout(s.fake.Read(c.Arg(0) + ".layout")) },
		"write":     func(c *scenario.Command) { s.fake.Append(strings.Join(c.Words, " ")) },
		"sysfs":     s.sysfs,
		"unload":    func(*scenario.Command) { s.fake.Unload() },
		"start":     s.start,
		"inject":    s.inject,
		"look":      s.look,
		"reopened":  func(c *scenario.Command) { c.WriteString(s.changes()) },
		"inventory": func(c *scenario.Command) { c.WriteString(describe(s.inventory)) },
		"links":     func(c *scenario.Command) { c.WriteString(links(s.inventory)) },
	}
}

func (s *scene) sysfs(c *scenario.Command) {
	s.machine["sys/bus/pci/devices/"+c.Arg(0)+"/numa_node"] = &fstest.MapFile{Data: []byte(c.Arg(1) + "\n")}
}

func (s *scene) inject(c *scenario.Command) {
	s.fake.Inject(strings.Join(c.Words, " "))
	if slices.Contains([]string{"xid", "doublebit", "unavailable"}, c.Arg(0)) {
		c.WriteString(s.changes())
	}
}

func (s *scene) start(c *scenario.Command) {
	ctx, cancel := context.WithCancel(context.Background())
	memoryErrors := map[string]uint64{}
	monitor := NewMonitor(MonitorOptions{
		Open: func() (Driver, error) {
			return Open(Options{Library: s.fake.Library, Machine: s.machine, MemoryErrors: memoryErrors})
		},
		Publish: func(inventory *gpu.Inventory) {
			select {
			case s.published <- inventory:
			case <-ctx.Done():
			}
		},
		Tick: s.tick, Now: s.now, MinFault: time.Minute, Log: testr.New(s.t),
	})
	done := make(chan error, 1)
	go func() { done <- monitor.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("Run: %v", err)
		}
	})
	c.WriteString(s.changes())
}

func (s *scene) now() time.Time { return time.Time{}.Add(time.Duration(s.passed.Load())) }

func (s *scene) look(c *scenario.Command) {
	if c.Opt(0) != "" {
		s.passed.Add(int64(c.Duration(0)))
	}
	s.tick <- s.now()
	c.WriteString(s.changes())
}

// changes waits until the monitor publishes an inventory, and returns the differences
// from the previous inventory.
func (s *scene) changes() string {
	before := s.inventory
	select {
	case s.inventory = <-s.published:
	case <-time.After(20 * time.Second):
		s.t.Fatal("the monitor publishes nothing")
	}
	was := strings.Split(units(before), "\n")
	var b strings.Builder
	for line := range strings.Lines(units(s.inventory)) {
		if !slices.Contains(was, strings.TrimSuffix(line, "\n")) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// units returns the GPUs and slices that can be allocated, one per line.
func units(inventory *gpu.Inventory) string {
	var b strings.Builder
	for _, unit := range inventory.Units() {
		fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprintf("%.12s %s %s", unit.ID, unit.Health.State, unit.Health.Reason)))
	}
	return b.String()
}

func describe(inventory *gpu.Inventory) string {
	var b strings.Builder
	fmt.Fprintf(&b, "driver %s, CUDA %s\n", inventory.Driver, inventory.CUDA)
	for _, c := range inventory.GPUs {
		fmt.Fprintf(&b, "%d %s %q %d MiB %s numa %d\n", c.Index, c.UUID, c.Model, c.MemoryBytes>>20, c.PCI, c.NUMA)
		if c.MIG {
			fmt.Fprintf(&b, "  %d MIG devices\n", len(c.Slices))
		}
		for _, slice := range c.Slices {
			fmt.Fprintf(&b, "  %s %s %d/%d %d MiB\n", slice.UUID, slice.Profile, slice.GPUInstance, slice.ComputeInstance, slice.MemoryBytes>>20)
		}
	}
	return b.String()
}

func links(inventory *gpu.Inventory) string {
	var b strings.Builder
	for i, row := range inventory.Links {
		var names []string
		for j, link := range row {
			name := link.String()
			if i == j {
				name = "-"
			}
			names = append(names, fmt.Sprintf("%-4s", name))
		}
		fmt.Fprintln(&b, strings.TrimSpace(strings.Join(names, " ")))
	}
	return b.String()
}
