//go:build e2e

package containerd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRealContainerd calls Install and Undo with the containerd that `make rig-up` has built for
// the virtual machines of the end-to-end tests. The test must run as root, because it starts
// containerd with a temporary directory as root directory (chroot).
func TestRealContainerd(t *testing.T) {
	home, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	built, _ := filepath.Glob(filepath.Join(home, "numalet/rig/cache/runtime-*/bin/containerd"))
	if len(built) == 0 {
		t.Fatal("no containerd is built: run make rig-up")
	}
	program, err := os.ReadFile(built[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range mains(t) {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, text)
			n.put("/usr/bin/containerd", string(program))
			if err := os.Chmod(filepath.Join(n.dir, "usr/bin/containerd"), 0o755); err != nil {
				t.Fatal(err)
			}
			n.binary = Chroot{n.root}
			before := n.tree()
			if err := n.install("pod"); err != nil || !n.requires() || n.restarts != 1 {
				t.Fatalf("installed: error %v, required %v, %d restarts", err, n.requires(), n.restarts)
			}
			if err := n.undo(); err != nil || n.requires() || n.restarts != 2 {
				t.Fatalf("undone: error %v, required %v, %d restarts", err, n.requires(), n.restarts)
			}
			if diff := cmp.Diff(before, n.tree()); diff != "" {
				t.Errorf("after undo (-before +after):\n%s", diff)
			}
		})
	}
}
