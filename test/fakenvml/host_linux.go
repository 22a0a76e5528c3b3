package fakenvml

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// isolated is the environment variable that tells a test that it runs in its own Linux namespaces.
const isolated = "NUMALET_TEST_ISOLATED"

// Isolated reports whether the test runs in a user and a mount namespace of its own, in which it
// may mount file systems. Otherwise Isolated runs the test again, in a new process of the test
// binary with namespaces of its own. The result of the new process becomes the result of the test.
// Isolated then returns false, and the caller must return. It skips the test if it cannot create
// such namespaces.
func Isolated(t *testing.T) bool {
	t.Helper()
	if os.Getenv(isolated) != "" {
		return true
	}
	again := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), isolated+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := again.CombinedOutput()
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		t.Skipf("no user namespace to fake devices in: %v", err)
	}
	t.Logf("in namespaces of its own:\n%s", out)
	switch {
	case err != nil:
		t.Fail()
	case strings.Contains(string(out), "--- SKIP"):
		t.SkipNow()
	}
	return false
}

// Root creates a root directory like that of a host with NVIDIA's driver and the GPUs of the
// layout. The library files in it are empty, and the device nodes are bind mounts of /dev/null. Root
// also mounts a file system on /proc/driver, and creates the list of MIG capabilities there. Call Root
// only if Isolated has returned true.
func (f *Fake) Root() string {
	f.t.Helper()
	root := f.t.TempDir()
	h := host{f, root, map[string]bool{}}
	h.mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE)
	h.mount("tmpfs", "/proc/driver", "tmpfs", 0)
	for _, name := range []string{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"} {
		h.node(name)
	}
	h.gpus()
	return root
}

// host is the root directory that the method Root creates files in.
type host struct {
	*Fake
	root string
	made map[string]bool // device nodes that exist, by name
}

// gpus creates the files that NVIDIA's driver would create for the GPUs of the layout.
func (h host) gpus() {
	h.t.Helper()
	gpus, minors := 0, ""
	text, err := os.ReadFile(h.layout)
	h.must(err)
	for line := range strings.Lines(string(text)) {
		var parent, gi, ci int
		var version string
		switch {
		case strings.HasPrefix(line, "gpu "):
			h.node(fmt.Sprintf("nvidia%d", gpus))
			gpus++
		case scan(line, "driver %s", &version):
			for _, library := range []string{"libcuda.so.", "libnvidia-ml.so."} {
				h.file("usr/lib/x86_64-linux-gnu/" + library + version)
			}
		case scan(line, "slice %d %d %d", &parent, &gi, &ci):
			minors += h.capability(fmt.Sprintf("gpu%d/gi%d", parent, gi), 2*gi) + h.capability(fmt.Sprintf("gpu%d/gi%d/ci%d", parent, gi, ci), 2*gi+1)
		}
	}
	h.must(os.MkdirAll("/proc/driver/nvidia-caps", 0o755))
	h.must(os.WriteFile("/proc/driver/nvidia-caps/mig-minors", []byte(minors), 0o444))
}

func scan(line, format string, to ...any) bool {
	n, _ := fmt.Sscanf(line, format, to...)
	return n == len(to)
}

// capability creates the device node of a MIG capability. It returns the line of this capability
// for the file mig-minors, the list of MIG capabilities in /proc.
func (h host) capability(name string, minor int) string {
	h.t.Helper()
	h.node(fmt.Sprintf("nvidia-caps/nvidia-cap%d", minor))
	return fmt.Sprintf("%s/access %d\n", name, minor)
}

// node creates a device node unless it exists. The device node is a bind mount of /dev/null,
// because the creation of a real device node needs root outside of the namespaces.
func (h host) node(name string) {
	h.t.Helper()
	if h.made[name] {
		return
	}
	h.made[name] = true
	path := h.file("dev/" + name)
	h.mount("/dev/null", path, "", syscall.MS_BIND)
	h.t.Cleanup(func() { h.must(syscall.Unmount(path, 0)) })
}

// mount mounts a file system. It skips the test if the new namespace does not permit mounts, for
// example because of AppArmor's kernel.apparmor_restrict_unprivileged_userns.
func (h host) mount(what, where, kind string, flags uintptr) {
	h.t.Helper()
	err := syscall.Mount(what, where, kind, flags, "")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		h.t.Skipf("mount %q on %s: %v: run as root to fake devices", what, where, err)
	}
	h.must(err)
}

// file creates an empty file in the root directory, and returns its path.
func (h host) file(name string) string {
	h.t.Helper()
	path := filepath.Join(h.root, name)
	h.must(os.MkdirAll(filepath.Dir(path), 0o755))
	h.must(os.WriteFile(path, nil, 0o755))
	return path
}
