package nvmlserver

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// device returns a device file that was created some time after the container.
func device(after time.Duration) *fstest.MapFile {
	return &fstest.MapFile{Mode: fs.ModeDevice | fs.ModeCharDevice, ModTime: time.Unix(0, 0).Add(after)}
}

// started returns the directory /dev of a container that was created when the host had the device
// file nvidiactl.
func started() fs.FS {
	return fstest.MapFS{".": &fstest.MapFile{Mode: fs.ModeDir, ModTime: time.Unix(0, 0)}, "null": device(0), "nvidiactl": device(0)}
}

func TestMissingDevices(t *testing.T) {
	for name, tc := range map[string]struct {
		host fstest.MapFS
		want []string
	}{
		"no GPUs":          {fstest.MapFS{"null": device(0)}, nil},
		"before":           {fstest.MapFS{"nvidiactl": device(-time.Hour)}, nil},
		"new GPUs":         {fstest.MapFS{"nvidiactl": device(-time.Hour), "nvidia0": device(time.Hour), "nvidia10": device(time.Hour)}, []string{"nvidia0", "nvidia10"}},
		"at the same time": {fstest.MapFS{"nvidia0": device(-10 * time.Second)}, []string{"nvidia0"}},
		"hidden":           {fstest.MapFS{"nvidia0": device(-time.Hour)}, nil},
		"for CUDA":         {fstest.MapFS{"nvidia-uvm": device(time.Hour)}, nil},
		"another file":     {fstest.MapFS{"nvidia0": &fstest.MapFile{ModTime: time.Unix(3600, 0)}, "sda": device(time.Hour)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, missingDevices(tc.host, started())); diff != "" {
				t.Errorf("missing device files (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWatchDevices checks that the process ends when the driver has created its device files after
// the start of the container, and not before.
func TestWatchDevices(t *testing.T) {
	tick := make(chan time.Time, 1)
	tick <- time.Time{}
	if err := watchDevices(t.Context(), fstest.MapFS{"nvidia0": device(time.Hour)}, started(), tick); err == nil || !strings.Contains(err.Error(), "nvidia0") {
		t.Errorf("err = %v, want one that names the file", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	tick <- time.Time{}
	if err := watchDevices(ctx, fstest.MapFS{}, started(), tick); err != nil {
		t.Errorf("without device files: %v", err)
	}
}
