package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/numalet/numalet/test/cluster/internal/control"
	"github.com/numalet/numalet/test/cluster/internal/pki"
)

// Alone is a control plane without machines: only etcd and kube-apiserver. Each Alone has a
// directory and ports of its own, so that several control planes can run at the same time.
type Alone struct {
	rig *Rig
	Run string // directory of its state
}

// Alone returns the control plane with the given name, whether it runs or not.
func (r *Rig) Alone(name string) (Alone, error) {
	if name == "" || name != filepath.Base(name) || name[0] == '.' {
		return Alone{}, fmt.Errorf("name of the control plane %q: want a file name", name)
	}
	return Alone{rig: r, Run: filepath.Join(r.Dir, "planes", name)}, nil
}

// Bin returns the directory of kubectl and kubeone.
func (a Alone) Bin() string { return filepath.Join(a.Run, "bin") }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (a Alone) Kubeconfig() string { return filepath.Join(a.Run, "admin.kubeconfig") }

// Up builds missing programs and starts the components that do not run. Then it waits until the API
// server is ready.
func (a Alone) Up(ctx context.Context) error {
	unlock, err := a.lock()
	if err != nil {
		return err
	}
	defer unlock()
	b, err := a.rig.builder()
	if err != nil {
		return err
	}
	defer b.Log.Close()
	made, err := b.Plane(a.rig.Out)
	if err != nil {
		return err
	}
	if err := linkPrograms(a.Bin(), made); err != nil {
		return err
	}
	p, err := a.plane()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startupTimeout)
	defer cancel()
	return p.Up(ctx)
}

// Down stops the control plane and removes its state.
func (a Alone) Down() error {
	unlock, err := a.lock()
	if err != nil {
		return err
	}
	defer unlock()
	p, err := a.plane()
	if err != nil {
		return err
	}
	var all error
	for _, process := range slices.Backward(p.Processes()) {
		all = errors.Join(all, process.Stop(10*time.Second))
	}
	if all != nil {
		return all
	}
	return os.RemoveAll(a.Run)
}

func (a Alone) lock() (unlock func(), err error) {
	if err := os.MkdirAll(a.Run, 0o755); err != nil {
		return nil, fmt.Errorf("make %s: %w", a.Run, err)
	}
	return lock(filepath.Join(a.Run, "lock"))
}

func (a Alone) plane() (control.Plane, error) {
	ca, err := pki.Open(filepath.Join(a.Run, "pki"))
	if err != nil {
		return control.Plane{}, err
	}
	ports, err := control.KeptPorts(filepath.Join(a.Run, "ports.json"))
	if err != nil {
		return control.Plane{}, err
	}
	return control.Plane{Run: a.Run, Kubeone: filepath.Join(a.Bin(), "kubeone"), CA: ca, Ports: ports, Alone: true}, nil
}
