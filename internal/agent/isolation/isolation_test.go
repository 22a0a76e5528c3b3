package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/numalet/numalet/pkg/cpuset"
)

// kernel is a fake of the kernel's files for interrupts and workqueues. It has plain files in a
// temporary directory.
type kernel struct {
	*testing.T
	root  string
	saved *Saved // the state file; nil if there is none
	boot  string
	full  bool // the disk is full, so Save fails
}

func newKernel(t *testing.T) *kernel {
	k := &kernel{T: t, root: t.TempDir(), boot: "b1"}
	k.write("proc/irq/default_smp_affinity", "000000ff\n")
	k.write("proc/irq/24/smp_affinity_list", "0-7\n")
	k.write("proc/irq/25/smp_affinity_list", "3\n")
	k.write("proc/irq/2/spurious", "none\n") // an interrupt without an affinity
	k.write("sys/devices/virtual/workqueue/cpumask", "000000ff\n")
	k.write("proc/77/comm", "kubelet\n")
	return k
}

func (k *kernel) write(name, text string) {
	k.Helper()
	path := filepath.Join(k.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		k.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		k.Fatal(err)
	}
}

// show returns the contents of the fake kernel's files, separated by spaces.
func (k *kernel) show() string {
	k.Helper()
	var out []string
	for _, name := range []string{"proc/irq/24/smp_affinity_list", "proc/irq/25/smp_affinity_list", "proc/irq/default_smp_affinity", "sys/devices/virtual/workqueue/cpumask"} {
		text, err := os.ReadFile(filepath.Join(k.root, name))
		if err != nil {
			k.Fatal(err)
		}
		out = append(out, strings.TrimSpace(string(text)))
	}
	return strings.Join(out, " ")
}

// Load returns the content of the fake state file.
func (k *kernel) Load() (Saved, error) {
	if k.saved == nil {
		return Saved{}, fs.ErrNotExist
	}
	return *k.saved, nil
}

func (k *kernel) Save(s Saved) error {
	if k.full {
		return errors.New("no space left")
	}
	k.saved = &s
	return nil
}

// start returns the Isolation of a newly started agent.
func (k *kernel) start() *Isolation {
	k.Helper()
	i, err := New(Options{
		Enabled: true, Proc: filepath.Join(k.root, "proc"), Sys: k.root, Store: k, BootID: k.boot,
		Online: func() (cpuset.Set, error) { return cpuset.MustParse("0-7"), nil },
	})
	if err != nil {
		k.Fatal(err)
	}
	return i
}

func (k *kernel) isolate(i *Isolation, cpus string) {
	k.Helper()
	if err := i.Isolate(k.Context(), cpuset.MustParse(cpus)); err != nil {
		k.Fatal(err)
	}
}

const (
	original = "0-7 3 000000ff 000000ff"
	without  = "0-1,4-7 0-1,4-7 000000f3 000000f3" // what the method `show` returns while CPUs 2-3 are isolated
)

func TestIsolate(t *testing.T) {
	kernel := newKernel(t)
	i := kernel.start()
	kernel.isolate(i, "")
	if kernel.saved != nil {
		t.Errorf("saved %v although nothing is isolated", kernel.saved)
	}
	kernel.isolate(i, "2-3")
	if diff := cmp.Diff(without, kernel.show()); diff != "" {
		t.Errorf("isolated (-want +got):\n%s", diff)
	}
	kernel.write("proc/irq/24/smp_affinity_list", "2") // irqbalance was started
	if err := i.again(t.Context()); err != nil || !strings.HasPrefix(kernel.show(), "0-1,4-7 ") {
		t.Errorf("after another program moved an interrupt: %s, %v", kernel.show(), err)
	}
	kernel.write("proc/irq/24/smp_affinity_list", "0-7")
	kernel.isolate(i, "")
	if diff := cmp.Diff(original, kernel.show()); diff != "" || len(kernel.saved.Files) != 0 {
		t.Errorf("given back; remembered %v (-want +got):\n%s", kernel.saved.Files, diff)
	}
}

// TestPartitionsAndWorkqueues checks a machine on which CPU 7 is in an isolated partition. The
// kernel itself leaves such CPUs out of the file of the workqueues. This must not count as a change
// by another program.
func TestPartitionsAndWorkqueues(t *testing.T) {
	kernel := newKernel(t)
	workqueues := func(requested, inForce string) {
		kernel.write("sys/devices/virtual/workqueue/cpumask_requested", requested)
		kernel.write("sys/devices/virtual/workqueue/cpumask", inForce)
	}
	workqueues("000000ff\n", "0000007f\n")
	i := kernel.start()
	kernel.isolate(i, "2-3")
	workqueues("000000f3\n", "00000073\n")
	kernel.isolate(i, "")
	if diff := cmp.Diff(original, kernel.show()); diff != "" {
		t.Errorf("given back (-want +got):\n%s", diff)
	}
}

// TestAgentEnds ends the agent while CPUs are isolated. The next agent must restore no setting
// until it knows the containers of the node. It must then restore all settings, because no
// container needs isolated CPUs.
func TestAgentEnds(t *testing.T) {
	kernel := newKernel(t)
	kernel.isolate(kernel.start(), "2-3")
	next := kernel.start()
	if err := next.again(t.Context()); err != nil || kernel.show() != without {
		t.Errorf("before the containers are known: %s, %v", kernel.show(), err)
	}
	kernel.isolate(next, "")
	if diff := cmp.Diff(original, kernel.show()); diff != "" {
		t.Errorf("after the pod has ended (-want +got):\n%s", diff)
	}
}

// TestReboot checks that the agent does not restore settings that it saved before a reboot. After a
// reboot, the kernel has its default settings anyway.
func TestReboot(t *testing.T) {
	kernel := newKernel(t)
	kernel.isolate(kernel.start(), "2-3")
	kernel.boot = "b2"
	kernel.write("proc/irq/24/smp_affinity_list", "0-1,4-7") // by chance, the same setting that the agent wrote before the reboot
	next := kernel.start()
	kernel.isolate(next, "2-3")
	kernel.isolate(next, "")
	if got := kernel.show(); !strings.HasPrefix(got, "0-1,4-7 ") {
		t.Errorf("after the reboot: %s", got)
	}
}

// TestNothingIsMovedUnsaved checks that Isolate does not change a kernel file if it cannot save the
// old content of the file.
func TestNothingIsMovedUnsaved(t *testing.T) {
	kernel := newKernel(t)
	kernel.full = true
	if err := kernel.start().Isolate(t.Context(), cpuset.MustParse("2-3")); err == nil || kernel.show() != original {
		t.Errorf("Isolate() = %v, files %s", err, kernel.show())
	}
}

// TestReadOnly checks a kernel that has made the file of one interrupt read-only, because this
// interrupt cannot be moved. All other interrupts must be moved.
func TestReadOnly(t *testing.T) {
	k := newKernel(t)
	if err := os.Chmod(filepath.Join(k.root, "proc/irq/25/smp_affinity_list"), 0o444); err != nil {
		t.Fatal(err)
	}
	i := k.start()
	k.isolate(i, "2-3")
	if diff := cmp.Diff("0-1,4-7 3 000000f3 000000f3", k.show()); diff != "" {
		t.Errorf("interrupts 24 and 25, later interrupts, workqueues (-want +got):\n%s", diff)
	}
	k.isolate(i, "")
	if k.saved == nil || len(k.saved.Files) > 0 {
		t.Errorf("still saved: %v", k.saved)
	}
}

func TestUnmovable(t *testing.T) {
	for err, want := range map[error]bool{
		&fs.PathError{Op: "write", Err: unix.EIO}:    true,
		&fs.PathError{Op: "write", Err: unix.EPERM}:  true,
		&fs.PathError{Op: "open", Err: unix.EPERM}:   false,
		&fs.PathError{Op: "write", Err: unix.ENOSPC}: false,
	} {
		if got := unmovable(errors.Join(err, nil)); got != want {
			t.Errorf("unmovable(%v) = %t, want %t", err, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*kernel, *Isolation)
		want   string // "" for nil
	}{
		"it can":        {func(*kernel, *Isolation) {}, ""},
		"switched off":  {func(_ *kernel, i *Isolation) { i.o.Enabled = false }, "without --isolation"},
		"irqbalance":    {func(k *kernel, _ *Isolation) { k.write("proc/99/comm", "irqbalance\n") }, "irqbalance runs on the node (process 99)"},
		"no workqueues": {func(k *kernel, _ *Isolation) { os.RemoveAll(filepath.Join(k.root, "sys")) }, "workqueue/cpumask: no such file or directory; apply deploy/isolation"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKernel(t)
			i := k.start()
			c.change(k, i)
			if got := fmt.Sprint(i.Check()); !strings.Contains(got, c.want) || c.want == "" && got != "<nil>" {
				t.Errorf("Check() = %s, want %q", got, c.want)
			}
		})
	}
}
