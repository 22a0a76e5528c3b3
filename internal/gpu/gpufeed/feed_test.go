package gpufeed

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/gpu"
)

func inventory(health gpu.State) *gpu.Inventory {
	return &gpu.Inventory{
		Driver: "570", CUDA: "12.8",
		GPUs: []gpu.GPU{
			{UUID: "a", Model: "Fake", PCI: "0000:01:00.0", NUMA: -1, Health: gpu.Health{State: health}},
			{UUID: "b", Index: 1, MIG: true, Slices: []gpu.Slice{{UUID: "b1", Profile: "1g.10gb", Health: gpu.Health{State: health}}}},
		},
		Links: gpu.Links{{{}, {NVLinks: 12, Level: gpu.System}}, {{NVLinks: 12, Level: gpu.System}, {}}},
	}
}

// socket returns the path of a new socket. It is short, because the path of a socket
// has at most 107 bytes.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "feed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "gpu.sock")
}

// run starts the function `part` (a parameter). It returns a function that ends the context of
// `part`, and waits until `part` has returned.
func run(t *testing.T, part func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- part(ctx) }()
	stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		done <- nil
	}
	t.Cleanup(stop)
	return stop
}

func client(t *testing.T, path string, timeout time.Duration) (*Client, <-chan struct{}) {
	t.Helper()
	changed := make(chan struct{}, 10)
	c := NewClient(Options{Socket: path, Timeout: timeout, Changed: func() { changed <- struct{}{} }, Log: testr.New(t)})
	run(t, c.Run)
	return c, changed
}

func await(t *testing.T, changed <-chan struct{}) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing new is told")
	}
}

func TestReadersAreTold(t *testing.T) {
	path := socket(t)
	c, changed := client(t, path, time.Minute)
	if len(c.Latest().GPUs) > 0 || c.Ready() == nil {
		t.Errorf("before anything was heard: %+v, ready: %v", c.Latest(), c.Ready())
	}
	first := NewServer(path, time.Minute)
	first.Publish(inventory(gpu.UnknownState))
	stop := run(t, first.Run)
	await(t, changed)
	if diff := cmp.Diff(inventory(gpu.UnknownState), c.Latest()); diff != "" || c.Ready() != nil {
		t.Errorf("ready: %v; inventory (-want +got):\n%s", c.Ready(), diff)
	}
	first.Publish(inventory(gpu.UnknownState)) // the same inventory again, which the client must not report as new
	first.Publish(inventory(gpu.Healthy))
	await(t, changed)
	if diff := cmp.Diff(inventory(gpu.Healthy), c.Latest()); diff != "" || len(changed) > 0 {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}

	stop() // end the server; the second one then acts as the server after a restart
	second := NewServer(path, time.Minute)
	second.Publish(inventory(gpu.Healthy))
	run(t, second.Run)
	second.Publish(inventory(gpu.Unhealthy))
	await(t, changed)
	if diff := cmp.Diff(inventory(gpu.Unhealthy), c.Latest()); diff != "" {
		t.Errorf("inventory after a restart (-want +got):\n%s", diff)
	}
}

// TestSilence checks that the health of all GPUs becomes unknown if the server hangs:
// its socket exists, but it sends nothing more.
func TestSilence(t *testing.T) {
	path := socket(t)
	c, changed := client(t, path, 200*time.Millisecond)
	s := NewServer(path, time.Minute)
	s.Publish(inventory(gpu.Healthy))
	run(t, s.Run)
	await(t, changed)
	await(t, changed)
	var got []string
	for _, u := range c.Latest().Units() {
		got = append(got, u.ID+" "+u.Health.State.String()+" "+u.Health.Reason)
	}
	want := []string{
		"a Unknown numalet-nvml, which monitors the GPUs of this node, sends no updates",
		"b1 Unknown numalet-nvml, which monitors the GPUs of this node, sends no updates",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
}

// TestExpiredInventoryIsNotSent checks that a client that connects while the server hangs does not
// get the inventory from before the hang. The client would report it as up to date.
func TestExpiredInventoryIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := NewServer("", time.Minute)
		server.Publish(inventory(gpu.Healthy))
		time.Sleep(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		here, there := net.Pipe()
		defer here.Close()
		go server.serve(ctx, there)
		lines := make(chan string, 1)
		go func() {
			line, _ := readLine(bufio.NewReader(here))
			lines <- line
		}()
		synctest.Wait() // a server that sends expired inventories has sent this one by now
		server.Publish(inventory(gpu.Unhealthy))
		got, err := parse(<-lines)
		if diff := cmp.Diff(inventory(gpu.Unhealthy), got); diff != "" || err != nil {
			t.Errorf("error %v, first inventory (-want +got):\n%s", err, diff)
		}
	})
}

func TestNotAnInventory(t *testing.T) {
	c := NewClient(Options{})
	if err := c.update("[]\n"); err == nil || !strings.Contains(err.Error(), "decode the inventory of GPUs") {
		t.Errorf("update: %v", err)
	}
	if c.Ready() == nil {
		t.Error("the client is ready, but it has received no inventory")
	}
}

func TestFetch(t *testing.T) {
	path := socket(t)
	if _, err := Fetch(t.Context(), path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("with nobody there: %v, want that the socket does not exist", err)
	}
	server := NewServer(path, time.Minute)
	server.Publish(inventory(gpu.Healthy))
	run(t, server.Run)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		got, err := Fetch(t.Context(), path)
		if err != nil && time.Now().Before(deadline) {
			continue // the server does not listen yet
		}
		if diff := cmp.Diff(inventory(gpu.Healthy), got); diff != "" || err != nil {
			t.Errorf("error %v, inventory (-want +got):\n%s", err, diff)
		}
		return
	}
}

// TestReadLine checks that readLine returns whole lines, and an error for a line that
// is not ended or is too long.
func TestReadLine(t *testing.T) {
	for name, tc := range map[string]struct {
		from      io.Reader
		want, err string
	}{
		"short":       {strings.NewReader("{}\nnext\n"), "{}\n", ""},
		"of buffers":  {strings.NewReader(strings.Repeat("x", 1<<16) + "\n"), strings.Repeat("x", 1<<16) + "\n", ""},
		"not ended":   {strings.NewReader("{}"), "", "EOF"},
		"without end": {endless{}, "", "a line of more than 67108864 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readLine(bufio.NewReader(tc.from))
			if tc.err == "" && (err != nil || got != tc.want) || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%d bytes, %v; want %d bytes, %q", len(got), err, len(tc.want), tc.err)
			}
		})
	}
}

// endless is a reader that returns bytes forever, without a line end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
