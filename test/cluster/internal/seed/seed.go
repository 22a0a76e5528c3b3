// Package seed writes the files that each machine has of its own: its name, credentials,
// configuration and start scripts. The files are in a second initramfs archive, which is appended to
// the cached archive. The first boot copies them to the disk.
package seed

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"text/template"

	"github.com/numalet/numalet/test/cluster/internal/cpio"
)

//go:embed all:files
var files embed.FS

// Values are the values for the templates in files/.
type Values struct {
	Node         string
	Systemd      bool
	CRIO         bool // the container runtime is CRI-O, otherwise containerd
	KubeletPort  int
	ReservedCPUs string // the kubelet's reservedSystemCPUs
	ServiceIP    string // the address at which pods reach the API server
	APIServer    string // host:port of the API server as the guest sees it
}

// Socket returns the path of the container runtime's CRI socket.
func (v Values) Socket() string {
	if v.CRIO {
		return "/run/crio/crio.sock"
	}
	return "/run/containerd/containerd.sock"
}

// Prefix is a directory in the initramfs. The first boot copies its contents to /.
const Prefix = "seed"

// Write writes the files in files/common to the archive, and the files for the machine's init
// system (files/plain or files/systemd) and for CRI-O (files/crio). It also writes the files in
// `extra`, which maps paths in the machine to contents.
func Write(w *cpio.Writer, v Values, extra map[string][]byte) error {
	layers := []string{"common", "plain"}
	if v.Systemd {
		layers[1] = "systemd"
		enableUnits(w, v)
	}
	if v.CRIO {
		layers = append(layers, "crio")
	}
	for _, layer := range layers {
		if err := render(w, "files/"+layer, v); err != nil {
			return fmt.Errorf("lay out seed of %s: %w", v.Node, err)
		}
	}
	for name, body := range extra {
		w.File(Prefix+name, permissions(name, body), body)
	}
	return nil
}

func render(w *cpio.Writer, root string, v Values) error {
	return fs.WalkDir(files, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		t, err := template.ParseFS(files, name)
		if err != nil {
			return err
		}
		var body bytes.Buffer
		if err := t.Execute(&body, v); err != nil {
			return err
		}
		guestPath := strings.TrimPrefix(name, root)
		w.File(Prefix+guestPath, permissions(guestPath, body.Bytes()), body.Bytes())
		return nil
	})
}

// permissions returns the mode of a file, which depends on its name and content. Programs are
// executable, and only root can read private keys and the kubeconfig.
func permissions(name string, body []byte) fs.FileMode {
	switch {
	case bytes.HasPrefix(body, []byte("#!")), bytes.HasPrefix(body, []byte("\x7fELF")):
		return 0o755
	case strings.HasSuffix(name, ".key"), strings.HasSuffix(name, "/kubeconfig"):
		return 0o600
	default:
		return 0o644
	}
}

// enableUnits enables and masks systemd units with the symbolic links that systemctl would create.
// One of the masked units is the getty on the serial line. The getty would wait 90 s for a device
// that never appears.
func enableUnits(w *cpio.Writer, v Values) {
	const units = Prefix + "/etc/systemd/system/"
	runtime := "containerd.service"
	if v.CRIO {
		runtime = "crio.service"
	}
	for _, u := range []string{runtime, "guestd.service", "kubelet.service"} {
		w.Symlink(units+"multi-user.target.wants/"+u, "../"+u)
	}
	for _, u := range []string{"serial-getty@ttyS0.service", "getty@tty1.service", "apt-daily.timer", "apt-daily-upgrade.timer",
		"e2scrub_all.timer", "e2scrub_reap.service", "systemd-logind.service", "fstrim.timer", "dpkg-db-backup.timer"} {
		w.Symlink(units+u, "/dev/null")
	}
}
