package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "crypto/sha256" // for go-digest, which uses the linked hash functions
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// containerdName is the annotation in the index with the full name under which
// containerd imports the image; the OCI annotation has the tag only.
const containerdName = "io.containerd.image.name"

// Image is an image with one layer.
type Image struct {
	Ref        string // registry/name:tag
	Arch       string // as GOARCH, e.g. amd64
	Entrypoint []string
	Labels     map[string]string
	Files      []File
}

// Write writes the image as an OCI archive (an image layout in a tar).
func (img *Image) Write(w io.Writer) error {
	repository, tag, ok := cutLast(img.Ref, ":")
	if !ok || repository == "" || strings.Contains(tag, "/") {
		return fmt.Errorf("read image name %q: want registry/name:tag", img.Ref)
	}
	tree, err := layer(img.Files)
	if err != nil {
		return err
	}
	a := archive{tw: tar.NewWriter(w)}
	root := a.blob(v1.MediaTypeImageLayerGzip, a.compress(tree))
	config := a.json(v1.MediaTypeImageConfig, img.config(digest.FromBytes(tree)))
	manifest := a.json(v1.MediaTypeImageManifest, v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: v1.MediaTypeImageManifest,
		Config:    config,
		Layers:    []v1.Descriptor{root},
	})
	manifest.Platform = &v1.Platform{OS: "linux", Architecture: img.Arch}
	manifest.Annotations = map[string]string{containerdName: img.Ref, v1.AnnotationRefName: tag}
	a.index(manifest)
	return a.close()
}

// config returns the configuration of the image. layer is the digest of the uncompressed
// layer.
func (img *Image) config(layer digest.Digest) v1.Image {
	return v1.Image{
		Platform: v1.Platform{OS: "linux", Architecture: img.Arch},
		Config: v1.ImageConfig{
			Entrypoint: img.Entrypoint,
			Env:        []string{"PATH=/usr/bin:/bin"},
			WorkingDir: "/",
			Labels:     img.Labels,
		},
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []digest.Digest{layer}},
	}
}

// archive writes the entries of an image layout, and records the first error.
type archive struct {
	tw  *tar.Writer
	err error
}

// blob writes data under its digest.
func (a *archive) blob(mediaType string, data []byte) v1.Descriptor {
	d := v1.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	a.write("blobs/sha256/"+d.Digest.Encoded(), data)
	return d
}

func (a *archive) json(mediaType string, v any) v1.Descriptor {
	return a.blob(mediaType, a.encode(v))
}

func (a *archive) index(manifest v1.Descriptor) {
	a.write(v1.ImageIndexFile, a.encode(v1.Index{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: v1.MediaTypeImageIndex,
		Manifests: []v1.Descriptor{manifest},
	}))
	a.write(v1.ImageLayoutFile, a.encode(v1.ImageLayout{Version: v1.ImageLayoutVersion}))
}

// compress returns data in gzip format, without a name or a time.
func (a *archive) compress(data []byte) []byte {
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	_, err := zw.Write(data)
	a.keep(err)
	a.keep(zw.Close())
	return buf.Bytes()
}

func (a *archive) encode(v any) []byte {
	data, err := json.Marshal(v)
	a.keep(err)
	return data
}

func (a *archive) write(name string, data []byte) {
	if a.err != nil {
		return
	}
	a.keep(a.tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data))}))
	_, err := a.tw.Write(data)
	a.keep(err)
}

func (a *archive) keep(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *archive) close() error {
	a.keep(a.tw.Close())
	return a.err
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
