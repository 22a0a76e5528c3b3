package cgroup

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/numalet/numalet/pkg/cpuset"
)

// BenchmarkShrink measures how long it takes to change the cpusets of 1, 10 and 100 running
// containers, with the cgroupfs driver and with the systemd driver. It measures three ways to
// change them:
//
//	direct     call Confine for each container
//	persisted  call Confine for each container, and then Persist once
//	runc       run "runc update" for each container, as a container runtime does for an update over NRI
//
// The benchmark creates the containers with runc, so it needs runc, a static busybox, and root.
// docs/benchmarks/logs/performance.md has results.
//
//	go test -run '^$' -bench Shrink -benchtime 20x -count 6 ./internal/agent/cgroup | benchstat -col /way -
func BenchmarkShrink(b *testing.B) {
	for _, driver := range []string{"cgroupfs", "systemd"} {
		for _, n := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("driver=%s/containers=%d", driver, n), func(b *testing.B) { benchShrink(b, driver, n) })
		}
	}
}

func benchShrink(b *testing.B, driver string, n int) {
	containers := launch(b, driver, n)
	cgroups := open(b, Options{})
	all, _, err := cgroups.Effective("/")
	if err != nil {
		b.Fatal(err)
	}
	first, _ := all.First()
	sets := []cpuset.Set{all.Minus(cpuset.Of(first)), all}
	ways := map[string]func(cpuset.Set) error{
		"direct": func(to cpuset.Set) error { return containers.confine(b, cgroups, to) },
		"persisted": func(to cpuset.Set) error {
			return firstError(containers.confine(b, cgroups, to), cgroups.Persist(b.Context()))
		},
		"runc": containers.update,
	}
	for _, way := range []string{"direct", "persisted", "runc"} {
		b.Run("way="+way, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if err := ways[way](sets[i%2]); err != nil {
					b.Fatal(err)
				}
			}
		})
		if err := cgroups.Persist(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// containers are the running containers of one benchmark.
type containers struct {
	flags   []string // of runc
	ids     []string
	targets []string
}

// launch starts n containers that sleep.
func launch(b *testing.B, driver string, n int) containers {
	b.Helper()
	if os.Getuid() != 0 {
		b.Skip("needs root to start containers")
	}
	if _, err := os.Stat("/run/systemd/system"); driver == "systemd" && err != nil {
		b.Skip("needs systemd as init")
	}
	for _, tool := range []string{"runc", "busybox"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.Skip(err)
		}
	}
	f := containers{flags: []string{"--root", b.TempDir()}}
	if driver == "systemd" {
		f.flags = append(f.flags, "--systemd-cgroup")
	}
	b.Cleanup(func() {
		for _, id := range f.ids {
			_ = f.runc("delete", "--force", id)
		}
		parents, _ := filepath.Glob("/sys/fs/cgroup/*/numalet-bench")
		for _, dir := range append(parents, "/sys/fs/cgroup/numalet-bench") {
			_ = os.Remove(dir)
		}
	})
	for i := range n {
		id := fmt.Sprintf("numalet-bench-%d-%d", os.Getpid(), i)
		target := "/numalet-bench/" + id
		if driver == "systemd" {
			target = "numaletbench.slice:bench:" + id
		}
		if err := f.runc("run", "--detach", "--bundle", bundle(b, target), id); err != nil {
			b.Fatal(err)
		}
		f.ids, f.targets = append(f.ids, id), append(f.targets, target)
	}
	return f
}

// runc runs a command of the program runc. It writes the command's error output to a file, not to a
// pipe. The container inherits the error output, so a pipe would stay open until the container
// ends.
func (f containers) runc(args ...string) error {
	said, err := os.CreateTemp("", "runc-*.log")
	if err != nil {
		return err
	}
	defer os.Remove(said.Name())
	defer said.Close()
	command := exec.Command("runc", append(f.flags, args...)...)
	command.Stderr = said
	if err := command.Run(); err != nil {
		text, _ := os.ReadFile(said.Name())
		return fmt.Errorf("runc %s: %w: %s", strings.Join(args, " "), err, text)
	}
	return nil
}

func (f containers) confine(b *testing.B, c *Cgroups, to cpuset.Set) error {
	for _, target := range f.targets {
		if err := c.Confine(b.Context(), target, exactly(to)); err != nil {
			return err
		}
	}
	return nil
}

func (f containers) update(to cpuset.Set) error {
	for _, id := range f.ids {
		if err := f.runc("update", "--cpuset-cpus", to.String(), id); err != nil {
			return err
		}
	}
	return nil
}

// bundle writes an OCI bundle, whose root file system has only the file busybox, and returns its
// directory.
func bundle(b *testing.B, cgroupsPath string) string {
	b.Helper()
	dir := b.TempDir()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		b.Fatal(err)
	}
	program, err := os.ReadFile(busybox)
	if err != nil {
		b.Fatal(err)
	}
	for _, d := range []string{"rootfs/proc", "rootfs/bin"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "rootfs/bin/busybox"), program, 0o755); err != nil {
		b.Fatal(err)
	}
	type object = map[string]any
	config, err := json.Marshal(object{
		"ociVersion": "1.2.0",
		"process":    object{"cwd": "/", "args": []string{"/bin/busybox", "sleep", "100000"}, "user": object{"uid": 0, "gid": 0}},
		"root":       object{"path": "rootfs", "readonly": true},
		"mounts":     []object{{"destination": "/proc", "type": "proc", "source": "proc"}},
		"linux": object{
			"cgroupsPath": cgroupsPath,
			"namespaces":  []object{{"type": "pid"}, {"type": "mount"}},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644); err != nil {
		b.Fatal(err)
	}
	return dir
}
