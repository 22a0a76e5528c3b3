package nvmlserver

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/gpu/gpufeed"
	"github.com/numalet/numalet/internal/gpu/nvml/cdi"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/test/fakenvml"
)

// TestServe checks that a client of the socket receives a fault that the fake NVML reports.
func TestServe(t *testing.T) {
	fake := fakenvml.New(t, fakenvml.Eight)
	reader, changed := listen(t, load(t, fake.Library))
	<-changed
	if diff := cmp.Diff(map[gpu.State]int{gpu.Healthy: 11}, states(reader.Latest())); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	fake.Inject("xid GPU-fa4e0003-0000-0000-0000-000000000000 79")
	<-changed
	if diff := cmp.Diff(map[gpu.State]int{gpu.Healthy: 10, gpu.Unhealthy: 1}, states(reader.Latest())); diff != "" {
		t.Errorf("GPUs after a fault (-want +got):\n%s", diff)
	}
}

// TestNothingIsGivenThatNoRuntimeResolves checks that all GPUs have unknown health on a machine
// that has NVML but no device files. The CDI specification would lack these files, so that a
// container could not use the GPUs. GPUs with unknown health are not allocated to containers.
func TestNothingIsGivenThatNoRuntimeResolves(t *testing.T) {
	dir := t.TempDir()
	old := cdi.Path(dir, "example.com/gpu")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fake := fakenvml.New(t, fakenvml.Eight)
	reader, changed := listen(t, load(t, fake.Library, "--gpu-cdi-kind=numalet.dev/gpu", "--gpu-cdi-dir="+dir, "--gpu-cdi-hook=", "--driver-root="+dir))
	<-changed
	if diff := cmp.Diff(map[gpu.State]int{gpu.UnknownState: 11}, states(reader.Latest())); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	if why := reader.Latest().Units()[0].Health.Reason; !strings.Contains(why, "0 of its 1 device nodes are under "+dir+"/dev") {
		t.Errorf("reason %q", why)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("specifications: %v, %v", left, err)
	}
}

func load(t *testing.T, library string, args ...string) config.NVML {
	t.Helper()
	dir, err := os.MkdirTemp("", "nvml")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cfg, err := config.LoadNVML(config.Input{
		Args: append([]string{
			"--gpu-socket=" + filepath.Join(dir, "gpu.sock"), "--nvml-library=" + library, "--sysfs-root=" + dir, "--health-addr=127.0.0.1:0", "--gpu-cdi-dir=" + dir,
		}, args...),
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// listen starts numalet-nvml, and returns a client of its socket and a channel that receives
// a value for each new inventory.
func listen(t *testing.T, cfg config.NVML) (*gpufeed.Client, <-chan struct{}) {
	t.Helper()
	changed := make(chan struct{}, 10)
	reader := gpufeed.NewClient(gpufeed.Options{Socket: cfg.GPUSocket, Timeout: time.Minute, Changed: func() { changed <- struct{}{} }, Log: logr.Discard()})
	start(t, func(ctx context.Context) error { return Run(ctx, cfg) })
	start(t, reader.Run)
	return reader, changed
}

func states(inventory *gpu.Inventory) map[gpu.State]int {
	all := map[gpu.State]int{}
	for _, unit := range inventory.Units() {
		all[unit.Health.State]++
	}
	return all
}

// start runs the function given as `part` until the test ends.
func start(t *testing.T, part func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- part(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
