package foreign

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/workload"
)

// machine is a fake machine with one container, whose exclusive CPUs are 2-3. The /proc of the
// machine has the CPUs 0-3 and kernel threads.
type machine struct {
	proc     fstest.MapFS
	now      time.Time
	c        Container
	exited   bool
	held     bool
	used     time.Duration
	broken   error
	warnings []string
	changes  int
}

func newMachine() *machine {
	m := &machine{proc: fstest.MapFS{}, now: time.Unix(1000, 0), held: true}
	m.c = Container{Pod: workload.Pod{UID: "u1", Namespace: "ns", Name: "p"}, Name: "main", ID: "c1", Cgroup: "/c1", CPUs: cpuset.MustParse("2-3")}
	m.set(0, 0, 0)
	m.proc["1/stat"] = &fstest.MapFile{Data: []byte(taskOf("systemd", 0x100, 0, 0))}
	m.proc["self/stat"] = &fstest.MapFile{}
	m.proc["meminfo"] = &fstest.MapFile{}
	return m
}

// set writes the fake /proc. The parameters are times of CPU 2, in ticks of 10 ms: all of its busy
// time, the time in which it handled interrupts, and the time in which it ran the kernel thread
// kworker/2:0.
func (m *machine) set(busy, interrupts, kworker int) {
	m.proc["stat"] = &fstest.MapFile{Data: fmt.Appendf(nil, "cpu  0 0 0 0 0 0 0\ncpu0 9 9 9 9 9 9 9\ncpu1 0 0 0 0 0 0 0\ncpu2 0 0 %d 5 5 %d 0\ncpu3 0 0 0 0 0 0 0\n", busy-interrupts, interrupts)}
	m.proc["20/stat"] = &fstest.MapFile{Data: []byte(taskOf("kworker/2:0", 0x200000, kworker, 2))}
}

func taskOf(name string, flags, ticks, cpu int) string {
	return fmt.Sprintf("20 (%s) S 2 0 0 0 -1 %d 0 0 0 0 0 %d 0 0 20 0 1 0 21 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 %d 0 0 0\n", name, flags, ticks, cpu)
}

func (m *machine) monitor() *Monitor {
	return New(Options{
		Proc: m.proc, Threshold: .05, Window: time.Minute, Now: func() time.Time { return m.now },
		Containers: func() []Container { return []Container{m.c} },
		Held: func() []Name {
			if m.held {
				return []Name{{"u1", "main"}}
			}
			return nil
		},
		Usage: func(string, cpuset.Set) (time.Duration, error) {
			if m.exited {
				return 0, fmt.Errorf("read: %w", fs.ErrNotExist)
			}
			return m.used, m.broken
		},
		Warn:    func(_ workload.Pod, message string) { m.warnings = append(m.warnings, message) },
		Changed: func() { m.changes++ },
	})
}

func (m *machine) sample(t *testing.T, monitor *Monitor) string {
	t.Helper()
	m.now = m.now.Add(30 * time.Second)
	if err := monitor.Sample(); err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, f := range monitor.Totals() {
		text += fmt.Sprintf("%s/%s: irq %s kernel %s other %s of %s noisy %t", f.Pod, f.Container, f.Interrupts, f.Kernel, f.Other, f.Exclusive, f.Noisy)
	}
	return text
}

func TestMonitor(t *testing.T) {
	machine := newMachine()
	monitor := machine.monitor()
	for _, step := range []struct {
		name   string
		change func()
		want   string
	}{
		{"first", func() {}, "ns/p/main: irq 0s kernel 0s other 0s of 0s noisy false"},
		{"each source", func() { machine.set(700, 100, 200); machine.used = time.Second }, "ns/p/main: irq 1s kernel 2s other 3s of 1m0s noisy false"},
		{"a whole window", func() { machine.used += time.Second; machine.set(800, 100, 200) }, "ns/p/main: irq 1s kernel 2s other 3s of 2m0s noisy true"},
		{"quiet for a window", func() {}, "ns/p/main: irq 1s kernel 2s other 3s of 3m0s noisy false"},
		{"exited", func() { machine.exited = true }, "ns/p/main: irq 1s kernel 2s other 3s of 3m0s noisy false"},
		{"restarted", func() { machine.exited, machine.c.ID, machine.used = false, "c2", 0; machine.set(5000, 100, 200) }, "ns/p/main: irq 1s kernel 2s other 3s of 3m0s noisy false"},
		{"continues after the restart", func() { machine.set(5100, 100, 300) }, "ns/p/main: irq 1s kernel 3s other 3s of 4m0s noisy false"},
		{"released", func() { machine.held, machine.exited = false, true }, ""},
	} {
		step.change()
		if got := machine.sample(t, monitor); got != step.want {
			t.Errorf("%s:\n got %s\nwant %s", step.name, got, step.want)
		}
	}
	want := []string{`others used 5.0% of the time of the exclusive CPUs 2-3 of container "main" in the last 1m0s, most of it other processes: find them with ps -eLo psr,pid,comm, and confine system.slice with AllowedCPUs`}
	if diff := cmp.Diff(want, machine.warnings); diff != "" || machine.changes != 2 {
		t.Errorf("%d changes, want 2; warnings (-want +got):\n%s", machine.changes, diff)
	}
}

// TestNoisyContainerIsReleased checks that Changed is called if the last container with exclusive CPUs
// releases them while it has too much foreign time.
func TestNoisyContainerIsReleased(t *testing.T) {
	machine := newMachine()
	monitor := machine.monitor()
	monitor.o.Containers = func() []Container {
		if machine.held {
			return []Container{machine.c}
		}
		return nil
	}
	machine.sample(t, monitor)
	machine.set(700, 0, 0)
	machine.sample(t, monitor)
	machine.sample(t, monitor)
	if diff := cmp.Diff([]string{"ns/p/main"}, monitor.Noisy()); diff != "" || machine.changes != 1 {
		t.Fatalf("%d changes, want 1; Noisy (-want +got):\n%s", machine.changes, diff)
	}
	machine.held = false
	machine.sample(t, monitor)
	if noisy := monitor.Noisy(); noisy != nil || machine.changes != 2 {
		t.Errorf("%d changes, want 2; %v are noisy, want none", machine.changes, noisy)
	}
}

// TestProcessIsReadOnce checks that the files of a process that is not a kernel thread are read
// only once. It also checks that there is no error if a process ends between the listing of
// /proc and the read of the process's files.
func TestProcessIsReadOnce(t *testing.T) {
	machine := newMachine()
	monitor := machine.monitor()
	machine.sample(t, monitor)
	machine.proc["1/stat"] = &fstest.MapFile{Data: []byte("unreadable")}
	machine.proc["77/cmdline"] = &fstest.MapFile{}
	machine.sample(t, monitor)
	delete(machine.proc, "1/stat")
	machine.sample(t, monitor)
	machine.proc["1/stat"] = &fstest.MapFile{Data: []byte("unreadable")}
	if err := monitor.Sample(); err == nil || !strings.Contains(err.Error(), "no name in parentheses") {
		t.Errorf("a new process with the PID of one that ended: error %v, want that it cannot be parsed", err)
	}
}

func TestSampleFails(t *testing.T) {
	machine := newMachine()
	monitor := machine.monitor()
	machine.broken = errors.New("cpu.stat is broken")
	if err := monitor.Sample(); !errors.Is(err, machine.broken) {
		t.Errorf("Sample() = %v, want %v", err, machine.broken)
	}
	delete(machine.proc, "stat")
	if err := monitor.Sample(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Sample() without /proc/stat = %v", err)
	}
}
