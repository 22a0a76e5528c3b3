package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/config"
	"github.com/numalet/numalet/internal/feed"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/test/fakenvml"
)

// TestServe goes the whole way once: from a fault that the fake library reports
// to a reader on the other side of the socket.
func TestServe(t *testing.T) {
	fake := fakenvml.New(t, fakenvml.Eight)
	dir, err := os.MkdirTemp("", "nvml")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cfg, err := config.LoadNVML(config.Input{
		Args: []string{
			"--gpu-socket=" + filepath.Join(dir, "gpu.sock"), "--nvml-library=" + fake.Library, "--sysfs-root=" + dir, "--health-addr=127.0.0.1:0",
		},
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 10)
	reader := feed.NewClient(feed.Options{Socket: cfg.GPUSocket, Patience: time.Minute, Changed: func() { changed <- struct{}{} }, Log: logr.Discard()})
	start(t, func(ctx context.Context) error { return serve(ctx, cfg) })
	start(t, reader.Run)

	count := func() map[gpu.State]int {
		states := map[gpu.State]int{}
		for _, u := range reader.Latest().Units() {
			states[u.Health.State]++
		}
		return states
	}
	<-changed
	if diff := cmp.Diff(map[gpu.State]int{gpu.Healthy: 11}, count()); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	fake.Inject("xid GPU-fa4e0003-0000-0000-0000-000000000000 79")
	<-changed
	if diff := cmp.Diff(map[gpu.State]int{gpu.Healthy: 10, gpu.Unhealthy: 1}, count()); diff != "" {
		t.Errorf("GPUs after a fault (-want +got):\n%s", diff)
	}
}

// start runs a part until the test ends.
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
