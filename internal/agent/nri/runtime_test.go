package nri

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	nrilog "github.com/containerd/nri/pkg/log"
	validator "github.com/containerd/nri/plugins/default-validator"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
)

// TestMain disables the log of the NRI library that the fake container runtime of the tests uses.
func TestMain(m *testing.M) {
	nrilog.Set(logger{logr.Discard()})
	os.Exit(m.Run())
}

// runtime is a fake container runtime, which calls hooks through NRI. It uses the same NRI library
// as containerd, and a real socket.
type runtime struct {
	*adaptation.Adaptation
	pods       []*adaptation.PodSandbox
	containers []*adaptation.Container
}

// newRuntime starts a container runtime that requires the plugin, so that it creates no container
// while the plugin is not connected. The program numalet-containerd configures containerd in the
// same way.
func newRuntime(t *testing.T, socket string) *runtime {
	t.Helper()
	return newRuntimeNamed(t, socket, "containerd", "v2.4.2")
}

func newRuntimeNamed(t *testing.T, socket, name, version string) *runtime {
	t.Helper()
	r := &runtime{}
	sync := func(ctx context.Context, synchronize adaptation.SyncCB) error {
		_, err := synchronize(ctx, r.pods, r.containers)
		return err
	}
	update := func(context.Context, []*adaptation.ContainerUpdate) ([]*adaptation.ContainerUpdate, error) {
		t.Error("the plugin asked for updates on its own, which can deadlock containerd")
		return nil, nil
	}
	var err error
	r.Adaptation, err = adaptation.New(name, version, sync, update,
		adaptation.WithSocketPath(socket), adaptation.WithPluginPath(t.TempDir()),
		adaptation.WithDefaultValidator(&validator.DefaultValidatorConfig{Enable: true, RequiredPlugins: []string{Name}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

// connect runs a plugin that calls this node, until the test ends.
func connect(t *testing.T, socket string, node *recorder) *Plugin {
	t.Helper()
	p := New(Options{Socket: socket, Node: node, Cgroups: node, Log: testr.New(t), Observe: func(string, time.Duration, error) {},
		Panicked: func(object string, cause any) { t.Logf("panic: %s: %v", object, cause) }})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return p
}

// synchronized waits until the plugin has handled the hook Synchronize, and the container runtime
// has added the plugin to its list of plugins.
func (r *runtime) synchronized(t *testing.T, p *Plugin) {
	t.Helper()
	await(t, "synchronized", ready(p))
	r.BlockPluginSync().Unblock()
}

// await waits until the condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("%s: not within 10 s", what)
}

func ready(p *Plugin) func() bool { return func() bool { return p.Ready() == nil } }

func socketIn(t *testing.T) string { return filepath.Join(t.TempDir(), "nri.sock") }
