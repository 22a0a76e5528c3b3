package agent

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr/testr"

	"github.com/numalet/numalet/internal/agent/checkpoint"
	"github.com/numalet/numalet/internal/agent/node/metrics"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/testutil/machinetest"
)

// TestCheckpointOfAnotherRelease checks that the agent does not start if a release with another
// format wrote the checkpoint file, and that it leaves the file as it is. If the agent started
// without the grants in the file, it would overwrite them.
func TestCheckpointOfAnotherRelease(t *testing.T) {
	root, path := t.TempDir(), filepath.Join(t.TempDir(), "checkpoint.json")
	const text = `{"version":2,"entries":[]}`
	for name, content := range map[string]string{filepath.Join(root, "proc/sys/kernel/random/boot_id"): "5b1c\n", path: text} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &agent{log: testr.New(t), cfg: config.Agent{Shared: config.Shared{SysfsRoot: root}, Checkpoint: path}}
	err := a.newNode(machinetest.Machine(1, 1).Build(), reservation{}, &metrics.Metrics{})
	if !errors.Is(err, checkpoint.ErrVersion) {
		t.Errorf("newNode() = %v, want %v", err, checkpoint.ErrVersion)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != text {
		t.Errorf("the file is %q now (%v), want %q", now, err, text)
	}
}
