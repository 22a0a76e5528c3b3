//go:build cgo

package nvml

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/test/fakenvml"
)

// TestScenarios walks through testdata/*.txt: the monitor and go-nvml, over a
// fake of the library. A fault settles in a minute.
//
//	machine eight         the fake's layout is eight.layout; without, it is empty
//	write LINE            adds a line to the layout (test/fakenvml)
//	sysfs ADDRESS NODE    the kernel has a card on that NUMA node
//	unload                the kernel driver goes away
//	start                 the monitor
//	inject LINE           into the fake's file of events; answers with what changed if it is an event
//	look [30s]            at all cards, after that time; answers with what changed
//	inventory             all that is known
//	links                 how the cards are linked
func TestScenarios(t *testing.T) {
	fake := fakenvml.New(t, fakenvml.Eight)
	var before *scene
	scenario.Walk(t, func() scenario.Scene {
		if before != nil {
			before.stop()
		}
		before = newScene(t, fake)
		return before
	})
	before.stop()
}

// scene is one machine and its monitor.
type scene struct {
	t         *testing.T
	fake      *fakenvml.Fake
	machine   fstest.MapFS
	tick      chan time.Time
	published chan *gpu.Inventory
	now       time.Time
	inventory *gpu.Inventory
	stop      func()
}

func newScene(t *testing.T, fake *fakenvml.Fake) *scene {
	fake.Layout("")
	return &scene{
		t: t, fake: fake, machine: fstest.MapFS{}, inventory: &gpu.Inventory{}, stop: func() {},
		tick: make(chan time.Time), published: make(chan *gpu.Inventory),
	}
}

func (s *scene) Run(command []string) string {
	rest := strings.Join(command[1:], " ")
	switch command[0] {
	case "machine":
		s.fake.Layout(s.fake.Read(command[1] + ".layout"))
	case "write":
		s.fake.Append(rest)
	case "sysfs":
		s.machine["sys/bus/pci/devices/"+command[1]+"/numa_node"] = &fstest.MapFile{Data: []byte(command[2] + "\n")}
	case "unload":
		s.fake.Unload()
	case "start":
		return s.start()
	case "inject":
		s.fake.Inject(rest)
		if slices.Contains([]string{"xid", "doublebit", "unavailable"}, command[1]) {
			return s.changes()
		}
	case "look":
		return s.look(command[1:])
	case "inventory":
		return describe(s.inventory)
	case "links":
		return links(s.inventory)
	default:
		s.t.Fatalf("unknown command %q", command)
	}
	return ""
}

func (s *scene) start() string {
	ctx, cancel := context.WithCancel(s.t.Context())
	monitor := NewMonitor(Env{
		Open: func() (Driver, error) { return Open(Options{Library: s.fake.Library, Machine: s.machine}) },
		Publish: func(v *gpu.Inventory) {
			select {
			case s.published <- v:
			case <-ctx.Done():
			}
		},
		Tick: s.tick, Now: func() time.Time { return s.now }, Settle: time.Minute, Log: testr.New(s.t),
	})
	done := make(chan error, 1)
	go func() { done <- monitor.Run(ctx) }()
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("Run: %v", err)
		}
	}
	return s.changes()
}

func (s *scene) look(after []string) string {
	if len(after) > 0 {
		d, err := time.ParseDuration(after[0])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = s.now.Add(d)
	}
	s.tick <- s.now
	return s.changes()
}

// changes waits until the monitor publishes, and returns what is new.
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

// units lists what can be given away.
func units(v *gpu.Inventory) string {
	var b strings.Builder
	for _, u := range v.Units() {
		fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprintf("%.12s %s %s", u.ID, u.Health.State, u.Health.Reason)))
	}
	return b.String()
}

func describe(v *gpu.Inventory) string {
	var b strings.Builder
	fmt.Fprintf(&b, "driver %s, CUDA %s\n", v.Driver, v.CUDA)
	for _, c := range v.Cards {
		fmt.Fprintf(&b, "%d %s %q %d MiB %s numa %d\n", c.Index, c.UUID, c.Model, c.MemoryBytes>>20, c.PCI, c.NUMA)
		if c.MIG {
			fmt.Fprintf(&b, "  %d MIG devices\n", len(c.Slices))
		}
		for _, m := range c.Slices {
			fmt.Fprintf(&b, "  %s %s %d/%d %d MiB\n", m.UUID, m.Profile, m.GPUInstance, m.ComputeInstance, m.MemoryBytes>>20)
		}
	}
	return b.String()
}

func links(v *gpu.Inventory) string {
	var b strings.Builder
	for i, row := range v.Links {
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
