// Package image writes container images from local files, without a registry.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Spec describes an image with one layer, which contains programs and symbolic links.
type Spec struct {
	Ref        string // name with tag
	Entrypoint []string
	Programs   map[string]string // path in the image -> local file
	Links      map[string]string // path in the image -> target
}

// Write writes the image to an archive that containerd imports.
func (s Spec) Write(file string) error {
	ref, err := name.NewTag(s.Ref, name.WeakValidation)
	if err != nil {
		return fmt.Errorf("write image %s: %w", s.Ref, err)
	}
	img, err := s.image()
	if err != nil {
		return fmt.Errorf("write image %s: %w", s.Ref, err)
	}
	return tarball.WriteToFile(file, ref, img)
}

func (s Spec) image() (v1.Image, error) {
	body, err := s.layer()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(body)), nil
	})
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, s.config(img))
}

func (s Spec) config(img v1.Image) *v1.ConfigFile {
	c, err := img.ConfigFile()
	if err != nil {
		c = &v1.ConfigFile{}
	}
	c = c.DeepCopy()
	c.OS, c.Architecture = "linux", "amd64"
	c.Config = v1.Config{Entrypoint: s.Entrypoint, Env: []string{"PATH=/bin:/usr/bin"}, WorkingDir: "/"}
	return c
}

func (s Spec) layer() ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, dir := range s.dirs() {
		if err := w.WriteHeader(&tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	for dst, src := range s.Programs {
		body, err := os.ReadFile(src)
		if err != nil {
			return nil, err
		}
		h := &tar.Header{Name: relative(dst), Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(body))}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(body); err != nil {
			return nil, err
		}
	}
	for dst, target := range s.Links {
		h := &tar.Header{Name: relative(dst), Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// dirs returns the directories of the image: tmp, and the directory of each program. It leaves out
// the parents of these directories. The programs of the test cluster's images are all in /bin,
// which needs no other parent than the root.
func (s Spec) dirs() []string {
	dirs := []string{"tmp"}
	seen := map[string]bool{".": true}
	for dst := range s.Programs {
		if d := path.Dir(relative(dst)); !seen[d] {
			seen[d] = true
			dirs = append(dirs, d)
		}
	}
	return dirs
}

func relative(p string) string { return strings.TrimPrefix(p, "/") }
