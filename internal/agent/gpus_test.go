package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr/testr"

	"github.com/numalet/numalet/internal/platform/config"
)

// TestGPUsBeforeTheFirstReport checks that the agent learns from the kernel's list of PCI devices
// whether the node has GPUs, before numalet-nvml reports them. If the agent cannot read that
// list, it must assume that the node has GPUs.
func TestGPUsBeforeTheFirstReport(t *testing.T) {
	const devices = "sys/bus/pci/devices"
	gpu := map[string]string{"class": "0x030200", "vendor": "0x10de", "numa_node": "0"}
	other := map[string]string{"class": "0x020000", "vendor": "0x8086", "numa_node": "0"}
	for name, tc := range map[string]struct {
		socket string
		device map[string]string
		want   bool
	}{
		"a GPU":                     {"/run/numalet/gpu.sock", gpu, true},
		"another device":            {"/run/numalet/gpu.sock", other, false},
		"no device":                 {"/run/numalet/gpu.sock", nil, false},
		"a GPU of another plugin's": {"", gpu, false},
		"unreadable":                {"/run/numalet/gpu.sock", map[string]string{"class": "0x030200", "vendor": "0x10de", "numa_node": "?"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range tc.device {
				path := filepath.Join(root, devices, "0000:1a:00.0", file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cfg := config.Agent{Shared: config.Shared{GPUSocket: tc.socket, SysfsRoot: root}}
			if got := newGPUs(cfg, func() {}, testr.New(t)).any(); got != tc.want {
				t.Errorf("the node has GPUs: %v, want %v", got, tc.want)
			}
		})
	}
}
