package deviceplugin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/numalet/numalet/internal/platform/config"
)

// load returns the device plugin's configuration with these arguments, on a node whose
// kubelet has the root directory dir.
func load(t *testing.T, dir string, args ...string) config.DevicePlugin {
	t.Helper()
	cfg, err := config.LoadDevicePlugin(config.Input{
		Args: append([]string{
			"--kubelet-dir=" + dir, "--kubelet-config=" + filepath.Join(dir, "config.yaml"), "--health-addr=127.0.0.1:0",
		}, args...),
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestOffSwitchTouchesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := Run(ctx, load(t, dir, "--exclusive-cpus=false", "--sysfs-root=/nonexistent")); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("in the kubelet's directory: %v, %v", left, err)
	}
}

func TestRefusesToStart(t *testing.T) {
	for name, tc := range map[string]struct {
		kubeletConfig string
		args          []string
		want          string
	}{
		"no machine":             {args: []string{"--sysfs-root=/nonexistent"}, want: "discover the machine under /nonexistent"},
		"broken kubelet config":  {kubeletConfig: "a: [", want: "set --kubelet-config to another one"},
		"reserved CPU not there": {args: []string{"--reserved-cpus=65000"}, want: "correct --reserved-cpus"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.kubeletConfig != "" {
				if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(tc.kubeletConfig), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := Run(t.Context(), load(t, dir, tc.args...))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}
