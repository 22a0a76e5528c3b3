// Package control runs the control plane on the host: etcd, kube-apiserver, kube-scheduler and
// kube-controller-manager. It listens only on loopback.
package control

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/numalet/numalet/test/cluster/internal/pki"
	"github.com/numalet/numalet/test/cluster/internal/proc"
)

// ServiceIP is the address at which pods reach the API server. It is the first address of
// serviceRange.
const (
	ServiceIP    = "10.96.0.1"
	serviceRange = "10.96.0.0/16"
)

// Plane is a control plane. Its state is in the directory Run.
type Plane struct {
	Run     string // directory of the control plane's state
	Kubeone string // path of the program kubeone
	CA      *pki.Authority
	Ports   Ports
	Nodes   []string // names of nodes; the API server resolves them to loopback addresses, because the kubelets' ports are forwarded to ports on loopback
	Alone   bool     // without kube-scheduler and kube-controller-manager
}

// Up starts the components that do not run, and waits until the API server is ready.
func (p Plane) Up(ctx context.Context) error {
	if err := p.credentials(); err != nil {
		return err
	}
	if err := p.start("etcd", p.etcdArgs()); err != nil {
		return err
	}
	if err := p.start("kube-apiserver", p.apiserverArgs()); err != nil {
		return err
	}
	if err := p.awaitReady(ctx); err != nil || p.Alone {
		return err
	}
	if err := p.start("kube-scheduler", p.schedulerArgs()); err != nil {
		return err
	}
	return p.start("kube-controller-manager", p.controllerManagerArgs())
}

// Processes lists the components in the order in which they start.
func (p Plane) Processes() []proc.Process {
	var all []proc.Process
	for _, name := range []string{"etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager"} {
		all = append(all, proc.Process{Run: p.Run, Name: name})
	}
	return all
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (p Plane) Kubeconfig() string { return filepath.Join(p.Run, "admin.kubeconfig") }

func (p Plane) start(name string, args []string) error {
	process := proc.Process{Run: p.Run, Name: name}
	if process.PID() != 0 {
		return nil
	}
	if name != "kube-apiserver" || len(p.Nodes) == 0 {
		return process.Start(append([]string{p.Kubeone, name}, args...)...)
	}
	// The API server connects to the kubelets by the names of their nodes. It runs in a mount
	// namespace with its own /etc/hosts that has these names, so the host's /etc/hosts stays
	// unchanged.
	const script = `mount --bind "$0" /etc/hosts && exec "$@"`
	argv := []string{"unshare", "-m", "sh", "-c", script, p.hostsFile(), p.Kubeone, name}
	return process.Start(append(argv, args...)...)
}

func (p Plane) awaitReady(ctx context.Context) error {
	client, err := p.Client()
	if err != nil {
		return err
	}
	for {
		_, err := client.Get(ctx, "/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the API server: %w: see %s", err, proc.Process{Run: p.Run, Name: "kube-apiserver"}.LogFile())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// credentials creates those certificates that do not exist yet. For each certificate it writes a
// kubeconfig.
func (p Plane) credentials() error {
	leaves := []pki.Leaf{
		{Name: "apiserver", DNS: []string{"localhost", "kubernetes.default.svc"},
			IPs: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(ServiceIP), net.IPv4(10, 0, 2, 2)}},
		{Name: "apiserver-kubelet-client", Group: "system:masters"},
		{Name: "front-proxy"}, // the API server's client certificate for aggregated APIs
		{Name: "admin", Group: "system:masters"},
		{Name: "kube-scheduler", Common: "system:kube-scheduler"},
		{Name: "kube-controller-manager", Common: "system:kube-controller-manager"},
		{Name: "service-accounts"},
	}
	for _, l := range leaves {
		pair, err := p.CA.Issue(l)
		if err != nil {
			return err
		}
		file := filepath.Join(p.Run, l.Name+".kubeconfig")
		if err := os.WriteFile(file, pki.Kubeconfig(p.url(), p.CA.Cert, pair), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
	}
	return p.writeHosts()
}

func (p Plane) writeHosts() error {
	hosts := "127.0.0.1 localhost\n"
	for _, node := range p.Nodes {
		hosts += "127.0.0.1 " + node + "\n"
	}
	if err := os.WriteFile(p.hostsFile(), []byte(hosts), 0o644); err != nil {
		return fmt.Errorf("write hosts: %w", err)
	}
	return nil
}

func (p Plane) hostsFile() string { return filepath.Join(p.Run, "hosts") }
func (p Plane) url() string       { return fmt.Sprintf("https://127.0.0.1:%d", p.Ports.API) }
