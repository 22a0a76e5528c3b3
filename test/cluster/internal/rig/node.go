package rig

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/numalet/numalet/test/cluster/internal/build"
	"github.com/numalet/numalet/test/cluster/internal/control"
	"github.com/numalet/numalet/test/cluster/internal/cpio"
	"github.com/numalet/numalet/test/cluster/internal/guest"
	"github.com/numalet/numalet/test/cluster/internal/machine"
	"github.com/numalet/numalet/test/cluster/internal/pki"
	"github.com/numalet/numalet/test/cluster/internal/proc"
	"github.com/numalet/numalet/test/cluster/internal/seed"
)

// hostFromGuest is the address of the host's loopback in QEMU's user network.
const hostFromGuest = "10.0.2.2"

// process returns the QEMU process of the machine of a flavour (a kind of virtual machine).
func (r *Rig) process(flavour machine.Flavour) proc.Process {
	return proc.Process{Run: r.Run(), Name: flavour.Node}
}

func (r *Rig) boot(flavour machine.Flavour) machine.Boot {
	file := func(ext string) string { return filepath.Join(r.Run(), flavour.Node+ext) }
	return machine.Boot{
		Flavour: flavour,
		Kernel:  file(".vmlinuz"), Initrd: file(".initrd"), Disk: file(".img"), Mailbox: file(".mailbox"),
		Console: file(".console"), Monitor: file(".qmp"),
	}
}

// startMachine creates the disk and the other files of a machine, and starts QEMU.
func (r *Rig) startMachine(p control.Plane, b build.Result, flavour machine.Flavour) error {
	boot := r.boot(flavour)
	boot.QEMU = filepath.Join(b.Emulator, "qemu")
	sources := map[string]string{
		boot.Kernel: filepath.Join(b.Kernels[flavour.Name], "vmlinuz"),
		boot.Disk:   filepath.Join(b.Roots[flavour.Name], "root.img"),
	}
	for to, from := range sources {
		if out, err := exec.Command("cp", "--sparse=always", "--reflink=auto", from, to).CombinedOutput(); err != nil {
			return fmt.Errorf("copy %s: %w: %s", from, err, out)
		}
	}
	if err := boot.MakeMailbox(); err != nil {
		return err
	}
	if err := r.writeInitrd(p, filepath.Join(b.Kernels[flavour.Name], "initrd"), boot); err != nil {
		return err
	}
	return r.process(flavour).Start(boot.Args()...)
}

// writeInitrd writes the machine's initrd: a copy of the cached initrd (the file `base`), followed
// by the machine's own files (package seed).
func (r *Rig) writeInitrd(p control.Plane, base string, boot machine.Boot) error {
	out, err := os.ReadFile(base)
	if err != nil {
		return fmt.Errorf("read initrd: %w", err)
	}
	extra, err := r.credentials(p.CA, boot.Flavour)
	if err != nil {
		return err
	}
	if extra["/usr/local/bin/guestd"], err = r.guestd(); err != nil {
		return err
	}
	body := bytes.NewBuffer(out)
	w := cpio.NewWriter(body)
	values := seed.Values{
		Node: boot.Node, Systemd: boot.Systemd, CRIO: boot.CRIO, KubeletPort: boot.KubeletPort, ReservedCPUs: boot.ReservedCPUs,
		ServiceIP: control.ServiceIP, APIServer: fmt.Sprintf("%s:%d", hostFromGuest, control.MachinePorts().API),
	}
	if err := seed.Write(w, values, extra); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write initrd: %w", err)
	}
	return os.WriteFile(boot.Initrd, body.Bytes(), 0o600)
}

func (r *Rig) credentials(ca *pki.Authority, flavour machine.Flavour) (map[string][]byte, error) {
	server, err := ca.Issue(pki.Leaf{Name: flavour.Node, DNS: []string{flavour.Node}, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		return nil, err
	}
	client, err := ca.Issue(pki.Leaf{Name: "node-" + flavour.Name, Common: "system:node:" + flavour.Node, Group: "system:nodes"})
	if err != nil {
		return nil, err
	}
	hostKey, err := ca.SSHKey("ssh-host")
	if err != nil {
		return nil, err
	}
	clientKey, err := ca.SSHKey("ssh-client")
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"/etc/rig/pki/ca.crt":      ca.Cert,
		"/etc/rig/pki/kubelet.crt": server.Cert,
		"/etc/rig/pki/kubelet.key": server.Key,
		"/etc/rig/kubeconfig":      pki.Kubeconfig(fmt.Sprintf("https://%s:%d", hostFromGuest, control.MachinePorts().API), ca.Cert, client),
		"/etc/rig/ssh/host.key":    hostKey.Key,
		"/etc/rig/ssh/client.pub":  clientKey.Cert,
	}, nil
}

// guestd builds the program guestd, which runs in the machine, and returns the content of its file.
// Go's build cache makes this fast.
func (r *Rig) guestd() ([]byte, error) {
	source, err := moduleDir()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(r.Run(), "guestd")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/guestd")
	cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build guestd: %w: %s", err, out)
	}
	return os.ReadFile(file)
}

// Door returns the address and the keys for SSH connections to a machine.
func (r *Rig) Door(flavour machine.Flavour) (guest.Door, error) {
	p, err := r.plane()
	if err != nil {
		return guest.Door{}, err
	}
	client, err := p.CA.SSHKey("ssh-client")
	if err != nil {
		return guest.Door{}, err
	}
	host, err := p.CA.SSHKey("ssh-host")
	if err != nil {
		return guest.Door{}, err
	}
	return guest.Door{Address: fmt.Sprintf("127.0.0.1:%d", flavour.SSHPort), ClientKey: client.Key, HostKey: host.Cert}, nil
}

// Enter connects to a machine. It returns an error if the machine does not run.
func (r *Rig) Enter(flavour machine.Flavour) (*guest.Client, error) {
	if r.process(flavour).PID() == 0 {
		return nil, fmt.Errorf("machine %s is not up: run: rig up --flavour %s", flavour.Node, flavour.Name)
	}
	d, err := r.Door(flavour)
	if err != nil {
		return nil, err
	}
	return d.Dial(30 * time.Second)
}

// awaitNode waits until the node is Ready and its boot ID differs from the argument `previous`.
// This argument is the boot ID before the reboot, or "" if the machine was not rebooted. A node
// whose machine has just been reset may still have the status Ready from before. The boot ID shows
// whether the status is from before or after the reboot.
func awaitNode(ctx context.Context, c *control.Client, name, previous string) error {
	for {
		n, err := c.Node(ctx, name)
		if err == nil && n.Ready && n.BootID != previous {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for node %s to be Ready: %w (last error: %v)", name, ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
