package cpio

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestWriterAgainstCpio unpacks an archive with cpio(1), which reads the same format as the kernel,
// and compares the files.
func TestWriterAgainstCpio(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("cpio is not installed")
	}
	var archive bytes.Buffer
	w := NewWriter(&archive)
	w.File("/etc/rig/name", 0o600, []byte("numa"))
	w.File("bin/odd", 0o755, []byte("x"))
	w.Symlink("sbin/init", "../bin/odd")
	w.Dir("proc")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command("cpio", "-idm", "--no-absolute-filenames", "--quiet")
	cmd.Dir, cmd.Stdin = dir, &archive
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("unpack: %v: %s", err, out)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "etc/rig/name")); string(got) != "numa" {
		t.Errorf("etc/rig/name = %q, %v; want %q", got, err, "numa")
	}
	if got, err := os.Readlink(filepath.Join(dir, "sbin/init")); got != "../bin/odd" {
		t.Errorf("sbin/init -> %q, %v; want %q", got, err, "../bin/odd")
	}
	for name, want := range map[string]os.FileMode{"etc/rig/name": 0o600, "bin/odd": 0o755, "proc": os.ModeDir | 0o755} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("mode of %s = %v, %v; want %v", name, info, err, want)
		}
	}
}
