package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// containerdName is the annotation in the image index with the full name under which
	// containerd imports the image. The annotation of the OCI specification (tagName) has only
	// the tag.
	containerdName = "io.containerd.image.name"
	tagName        = "org.opencontainers.image.ref.name"
)

// Image is a container image for one or several architectures. It has one layer for each
// architecture.
type Image struct {
	Ref        string // registry/name:tag
	Entrypoint []string
	Labels     map[string]string
	Platforms  []Platform
}

// Platform has the files of the image for one architecture.
type Platform struct {
	Arch  string // a value of GOARCH, such as amd64
	Files []File
}

// Write writes the image as an OCI archive (an image layout in a tar).
func (img *Image) Write(w io.Writer) error {
	index, err := img.index()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := layout.Write(dir, index); err != nil {
		return fmt.Errorf("write image %s: %w", img.Ref, err)
	}
	return archive(w, dir)
}

// index returns the index of the OCI archive. The index has one entry. If the image is for one
// architecture, this entry is the image. Otherwise it is another index, which lists the images
// for all architectures.
func (img *Image) index() (v1.ImageIndex, error) {
	repository, tag, ok := cutLast(img.Ref, ":")
	if !ok || repository == "" || strings.Contains(tag, "/") {
		return nil, fmt.Errorf("read image name %q: want registry/name:tag", img.Ref)
	}
	named := map[string]string{containerdName: img.Ref, tagName: tag}
	all := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range img.Platforms {
		one, err := img.image(p)
		if err != nil {
			return nil, err
		}
		entry := v1.Descriptor{MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: "linux", Architecture: p.Arch}}
		if len(img.Platforms) == 1 {
			entry.Annotations = named
		}
		all = mutate.AppendManifests(all, mutate.IndexAddendum{Add: one, Descriptor: entry})
	}
	if len(img.Platforms) == 1 {
		return all, nil
	}
	entry := v1.Descriptor{MediaType: types.OCIImageIndex, Annotations: named}
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: all, Descriptor: entry}), nil
}

// image returns the image for one architecture.
func (img *Image) image(p Platform) (v1.Image, error) {
	tree, err := layer(p.Files)
	if err != nil {
		return nil, err
	}
	files, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(tree)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("pack the files for %s: %w", p.Arch, err)
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	base, err = mutate.ConfigFile(base, &v1.ConfigFile{
		OS: "linux", Architecture: p.Arch, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{Entrypoint: img.Entrypoint, Env: []string{"PATH=/usr/bin:/bin"}, WorkingDir: "/", Labels: img.Labels},
	})
	if err != nil {
		return nil, fmt.Errorf("configure the image for %s: %w", p.Arch, err)
	}
	return mutate.AppendLayers(base, files)
}

// archive writes the files of a directory as a tar archive, without times and owners.
func archive(w io.Writer, dir string) error {
	tw := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // WalkDir visits files in lexical order, so the archive is reproducible
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = tw.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("archive the image: %w", err)
	}
	return tw.Close()
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
