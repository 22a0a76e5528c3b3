package containerd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
)

// dumpTimeout is how long `containerd config dump` may run. On an emulated machine, it took 2 s.
const dumpTimeout = time.Minute

// programDirs are the directories in which the method `look` searches for a program, if its name has
// no path.
const programDirs = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Chroot implements Binary, the interface through which the Installer runs the node's containerd.
// The node's file system is mounted at Root.
type Chroot struct{ Root *os.Root }

// Dump implements Binary. It runs containerd in a chroot, in the node's root directory. This needs
// the capability CAP_SYS_CHROOT.
func (c Chroot) Dump(ctx context.Context, program, main string) (string, error) {
	found, err := c.look(program)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, found, "--config", main, "config", "dump")
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + programDirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.Root.Name()}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("%s: %w: %.400s", strings.Join(cmd.Args, " "), err, lines[len(lines)-1])
	}
	return stdout.String(), nil
}

// look returns the path of a program in the node's file system.
func (c Chroot) look(program string) (string, error) {
	if path.IsAbs(program) {
		return program, nil
	}
	for dir := range strings.SplitSeq(programDirs, ":") {
		if _, err := c.Root.Lstat(inside(dir) + "/" + program); err == nil {
			return dir + "/" + program, nil
		}
	}
	return "", fmt.Errorf("the node has no program %s in %s", program, programDirs)
}

// Unit implements Service for the systemd unit with this name. It calls systemd over the D-Bus
// system bus, whose address is in the environment variable DBUS_SYSTEM_BUS_ADDRESS.
type Unit struct{ Name string }

// State implements Service.
func (u Unit) State(ctx context.Context) (s State, err error) {
	conn, err := u.connect(ctx)
	if err != nil {
		return s, err
	}
	defer conn.Close()
	unit, err := conn.GetUnitPropertiesContext(ctx, u.Name)
	if err != nil {
		return s, fmt.Errorf("ask systemd for %s: %w", u.Name, err)
	}
	s.Active, _ = unit["ActiveState"].(string)
	if unit["LoadState"] != "loaded" {
		return s, fmt.Errorf("systemd has no unit %s (it is %v); set --containerd-unit", u.Name, unit["LoadState"])
	}
	service, err := conn.GetUnitTypePropertiesContext(ctx, u.Name, "Service")
	if err != nil {
		return s, fmt.Errorf("ask systemd for %s: %w", u.Name, err)
	}
	s.KillMode, _ = service["KillMode"].(string)
	s.PID, _ = service["MainPID"].(uint32)
	return s, nil
}

// Restart implements Service. It returns when systemd has finished the restart.
func (u Unit) Restart(ctx context.Context) error {
	conn, err := u.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	done := make(chan string, 1)
	if _, err := conn.RestartUnitContext(ctx, u.Name, "replace", done); err != nil {
		return fmt.Errorf("restart %s: %w", u.Name, err)
	}
	select {
	case result := <-done:
		if result != "done" {
			return fmt.Errorf("restart %s: systemd's job is %s; see journalctl -u %s on the node", u.Name, result, u.Name)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (u Unit) connect(ctx context.Context) (*dbus.Conn, error) {
	conn, err := dbus.NewSystemConnectionContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to systemd over the system bus, as this program restarts containerd only with it; where the node has no systemd, install deploy/containerd/numalet.toml by hand: %w", err)
	}
	return conn, nil
}
