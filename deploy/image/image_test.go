package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

func example() *Image {
	return &Image{
		Ref:        "localhost/example:dev",
		Entrypoint: []string{"/bin/busybox", "sh"},
		Labels:     map[string]string{v1.AnnotationRevision: "0123abc"},
		Platforms:  []Platform{{"amd64", []File{Program("/bin/busybox", []byte("ELF")), Link("/bin/sh", "busybox")}}},
	}
}

func TestArchiveReadsBack(t *testing.T) {
	blobs := entries(t, write(t, example()))
	var index v1.Index
	decode(t, blobs["index.json"], &index)
	want := map[string]string{containerdName: "localhost/example:dev", v1.AnnotationRefName: "dev"}
	if diff := cmp.Diff(want, index.Manifests[0].Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}

	var manifest v1.Manifest
	decode(t, blob(t, blobs, index.Manifests[0]), &manifest)
	var config v1.Image
	decode(t, blob(t, blobs, manifest.Config), &config)
	if diff := cmp.Diff(example().Labels, config.Config.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	tree := unzip(t, blob(t, blobs, manifest.Layers[0]))
	if diff := cmp.Diff([]digest.Digest{digest.FromBytes(tree)}, config.RootFS.DiffIDs); diff != "" {
		t.Errorf("diff ids (-want +got):\n%s", diff)
	}

	files := entries(t, tree)
	wantFiles := map[string][]byte{"bin/": {}, "bin/busybox": []byte("ELF"), "bin/sh": []byte("-> busybox"), "tmp/": {}}
	if diff := cmp.Diff(wantFiles, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestArchitectures checks an image for two architectures. The archive must have one index under
// the image's name, which lists both architectures, so that a node can choose its own.
func TestArchitectures(t *testing.T) {
	img := example()
	img.Platforms = append(img.Platforms, Platform{"arm64", []File{Program("/bin/busybox", []byte("ARM"))}})
	blobs := entries(t, write(t, img))
	var top, index v1.Index
	decode(t, blobs["index.json"], &top)
	if len(top.Manifests) != 1 || top.Manifests[0].Annotations[containerdName] != img.Ref {
		t.Fatalf("index %+v, want one entry with the image's name", top)
	}
	decode(t, blob(t, blobs, top.Manifests[0]), &index)
	files := map[string]string{}
	for _, d := range index.Manifests {
		var manifest v1.Manifest
		decode(t, blob(t, blobs, d), &manifest)
		files[d.Platform.Architecture] = string(entries(t, unzip(t, blob(t, blobs, manifest.Layers[0])))["bin/busybox"])
	}
	if diff := cmp.Diff(map[string]string{"amd64": "ELF", "arm64": "ARM"}, files); diff != "" {
		t.Errorf("programs by architecture (-want +got):\n%s", diff)
	}
}

func TestEqualInputGivesEqualBytes(t *testing.T) {
	swapped := example()
	files := swapped.Platforms[0].Files
	files[0], files[1] = files[1], files[0]
	if !bytes.Equal(write(t, example()), write(t, swapped)) {
		t.Error("the order of the files changes the archive")
	}
}

func TestWriteRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ change func(*Image) }{
		"no tag":        {func(i *Image) { i.Ref = "localhost:5000/example" }},
		"no name":       {func(i *Image) { i.Ref = ":dev" }},
		"relative path": {func(i *Image) { i.Platforms[0].Files = []File{Program("bin/x", nil)} }},
		"unclean path":  {func(i *Image) { i.Platforms[0].Files = []File{Program("/bin/../x", nil)} }},
		"twice":         {func(i *Image) { i.Platforms[0].Files = []File{Program("/x", nil), Link("/x", "y")} }},
	} {
		t.Run(name, func(t *testing.T) {
			img := example()
			tc.change(img)
			if err := img.Write(io.Discard); err == nil {
				t.Error("Write succeeded")
			}
		})
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	src, out := filepath.Join(dir, "prog"), filepath.Join(dir, "image.tar")
	if err := os.WriteFile(src, []byte("ELF"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := run([]string{"-o", out, "-ref", "localhost/example:dev", "-arch", "amd64", "-entrypoint", "/bin/busybox,sh",
		"-label", v1.AnnotationRevision + "=0123abc", "-link", "/bin/sh=busybox", src + "=/bin/busybox"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, write(t, example())) {
		t.Error("the flags describe another image than the struct")
	}
}

func write(t *testing.T, img *Image) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := img.Write(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// entries returns the contents of the files in a tar archive by name. For a link, it returns "->
// target".
func entries(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	got := map[string][]byte{}
	for tr := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 0 {
			t.Errorf("%s has time %v", h.Name, h.ModTime)
		}
		got[h.Name], err = io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeSymlink {
			got[h.Name] = []byte("-> " + h.Linkname)
		}
	}
}

// blob returns the blob that a descriptor refers to, and checks its size and digest.
func blob(t *testing.T, blobs map[string][]byte, d v1.Descriptor) []byte {
	t.Helper()
	data, ok := blobs["blobs/sha256/"+d.Digest.Encoded()]
	if !ok || int64(len(data)) != d.Size || digest.FromBytes(data) != d.Digest {
		t.Fatalf("blob %s: %d bytes, want %d with that digest", d.Digest, len(data), d.Size)
	}
	return data
}

func unzip(t *testing.T, data []byte) []byte {
	t.Helper()
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
