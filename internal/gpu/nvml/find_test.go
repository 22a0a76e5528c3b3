package nvml

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFindFollowsLinksInsideTheRoot checks that Find resolves an absolute symbolic link
// of the host relative to the mounted root.
func TestFindFollowsLinksInsideTheRoot(t *testing.T) {
	root := t.TempDir()
	if _, err := Find(root); !errors.Is(err, ErrAbsent) {
		t.Errorf("Find in an empty root: %v, want ErrAbsent", err)
	}
	for _, dir := range []string{"usr/lib/x86_64-linux-gnu", "opt/driver"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := filepath.Join(root, "opt/driver/libnvidia-ml.so.570.86.15")
	if err := os.WriteFile(want, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/opt/driver/libnvidia-ml.so.570.86.15", filepath.Join(root, "usr/lib/x86_64-linux-gnu", libraryName)); err != nil {
		t.Fatal(err)
	}
	if got, err := Find(root); got != want || err != nil {
		t.Errorf("Find = %q, %v, want %q", got, err, want)
	}
}
