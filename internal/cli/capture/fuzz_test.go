package capture_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/numalet/numalet/internal/cli/capture"
)

// FuzzUnpack checks that Unpack never writes a file outside of its directory, and never writes a file
// larger than 1 MiB (maxFile). Unpack may refuse a tar file.
func FuzzUnpack(f *testing.F) {
	for _, entries := range [][]*tar.Header{
		{{Typeflag: tar.TypeDir, Name: "sys/node/"}, {Typeflag: tar.TypeSymlink, Name: "sys/node/cpu", Linkname: "../cpu"}},
		{{Typeflag: tar.TypeReg, Name: "../evil"}},
		{{Typeflag: tar.TypeSymlink, Name: "up", Linkname: ".."}, {Typeflag: tar.TypeReg, Name: "up/evil"}},
		{{Typeflag: tar.TypeReg, Name: "a/b/c/d/e/f", Format: tar.FormatGNU}},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range entries {
			if err := w.WriteHeader(h); err != nil {
				f.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "tree")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		_ = capture.Unpack(bytes.NewReader(sealed(archive)), dir) // an error is allowed, but even then Unpack must not have written outside of the directory
		if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
			t.Errorf("beside the tree: %v, %v", entries, err)
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if info, err := d.Info(); err != nil || info.Size() > 1<<20 {
				t.Errorf("%s: %v, %v", path, info, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// sealed returns a copy of a tar file with correct checksums in its headers. Without correct
// checksums, the tar reader would refuse nearly every header that the fuzzer has changed, and
// Unpack would never see the changed file names.
func sealed(archive []byte) []byte {
	const block, magic, sum, end = 512, 257, 148, 156
	archive = bytes.Clone(archive)
	for at := 0; at+block <= len(archive); at += block {
		header := archive[at : at+block]
		if !bytes.HasPrefix(header[magic:], []byte("ustar")) {
			continue
		}
		copy(header[sum:end], "        ")
		total := 0
		for _, b := range header {
			total += int(b)
		}
		copy(header[sum:end], fmt.Sprintf("%06o\x00 ", total))
	}
	return archive
}
