package capture_test

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/cli/capture"
)

// root returns a small file tree, and the names of the files in this tree that the tests capture.
func root() (fstest.MapFS, []string) {
	return fstest.MapFS{
		"sys/cpu/online":    {Data: []byte("0-1\n")},
		"sys/cpu/cpu1":      {Mode: fs.ModeDir | 0o755},
		"proc/meminfo":      {Data: []byte("MemTotal: 1 kB\n")},
		"proc/self/environ": {Data: []byte("SECRET=1")},
	}, []string{"proc/meminfo", "sys/cpu/cpu1", "sys/cpu/online"}
}

func TestRoundTrip(t *testing.T) {
	files, names := root()
	for name, save := range map[string]func(to string) error{
		"tar": func(to string) error {
			var archive bytes.Buffer
			if err := capture.Write(&archive, files, names); err != nil {
				return err
			}
			return os.WriteFile(to, archive.Bytes(), 0o644)
		},
		"directory": func(to string) error { return capture.WriteDir(to, files, names) },
	} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "captured")
			if err := save(to); err != nil {
				t.Fatal(err)
			}
			tree, err := capture.Open(to)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"proc/meminfo": "MemTotal: 1 kB\n", "sys/cpu/cpu1": "", "sys/cpu/online": "0-1\n"}
			if diff := cmp.Diff(want, contents(t, tree)); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			if err := tree.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// contents returns the contents of the files of a tree, by name. For an empty directory, the
// content is "".
func contents(t *testing.T, tree fs.FS) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if entries, _ := fs.ReadDir(tree, name); len(entries) == 0 {
				found[name] = ""
			}
			return nil
		}
		content, err := fs.ReadFile(tree, name)
		found[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestLinksStayInside checks that a relative or absolute symbolic link in a captured tree leads
// to a file of that tree and never to a file of this machine.
func TestLinksStayInside(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "online")
	if err := os.WriteFile(outside, []byte("of this machine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		target string
		want   string // "" for no such file
	}{
		"relative":         {target: "../cpu/online", want: "0-1\n"},
		"absolute":         {target: "/sys/cpu/online", want: "0-1\n"},
		"above the root":   {target: "../../../../../../sys/cpu/online", want: "0-1\n"},
		"file of the host": {target: outside},
		"dangling":         {target: "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := capture.Unpack(archive(t, &tar.Header{Typeflag: tar.TypeSymlink, Name: "sys/node/link", Linkname: tc.target}), dir); err != nil {
				t.Fatal(err)
			}
			tree, err := capture.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			got, err := fs.ReadFile(tree, "sys/node/link")
			if (err != nil) != (tc.want == "") || string(got) != tc.want {
				t.Errorf("read through link to %s = %q, %v, want %q", tc.target, got, err, tc.want)
			}
		})
	}
}

// TestUnpackRefuses checks that Unpack refuses tar files that the command "numalet capture"
// cannot have written.
func TestUnpackRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		archive *bytes.Buffer
		want    string
	}{
		"no tar":         {bytes.NewBufferString(strings.Repeat("x", 1024)), "tar"},
		"above the root": {archive(t, &tar.Header{Typeflag: tar.TypeReg, Name: "../evil"}), "evil"},
		"enormous file":  {archive(t, &tar.Header{Typeflag: tar.TypeReg, Name: "sys/big", Size: 1<<20 + 1}), "1048577 bytes"},
		"long name":      {archive(t, &tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("a/", 2048) + "a"}), "the name has 4097 bytes"},
		"enormous tree":  {archive(t, slices.Repeat([]*tar.Header{{Typeflag: tar.TypeReg, Name: "sys/big", Size: 1 << 20}}, 65)...), "more than 67108864 bytes"},
		"through a link": {archive(t, &tar.Header{Typeflag: tar.TypeSymlink, Name: "up", Linkname: ".."}, &tar.Header{Typeflag: tar.TypeReg, Name: "up/evil"}), "up/evil"},
	} {
		t.Run(name, func(t *testing.T) {
			err := capture.Unpack(tc.archive, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Unpack: error %v, want one that says %q", err, tc.want)
			}
		})
	}
}

// archive returns a tar file with the file sys/cpu/online and the given entries. The entries
// contain only zeros.
func archive(t *testing.T, entries ...*tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	write := func(h *tar.Header, content []byte) {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	write(&tar.Header{Typeflag: tar.TypeReg, Name: "sys/cpu/online", Size: 4, Mode: 0o644}, []byte("0-1\n"))
	for _, h := range entries {
		write(h, make([]byte, h.Size))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}
