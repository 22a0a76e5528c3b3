package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// File is one entry of the image's file system: a program or a symbolic link.
type File struct {
	Path   string // absolute path in the image
	Data   []byte
	Target string // the target of a link; "" for a program
}

// Program returns an executable file.
func Program(path string, data []byte) File { return File{Path: path, Data: data} }

// Link returns a symbolic link with the given path and target.
func Link(path, target string) File { return File{Path: path, Target: target} }

// layer returns a tar archive with the files and their parent directories, sorted by
// name.
func layer(files []File) ([]byte, error) {
	entries := map[string]tar.Header{"tmp/": dir("tmp/", 0o1777)}
	data := map[string][]byte{}
	for _, file := range files {
		if !path.IsAbs(file.Path) || path.Clean(file.Path) != file.Path {
			return nil, fmt.Errorf("add %q: want a clean absolute path", file.Path)
		}
		name := strings.TrimPrefix(file.Path, "/")
		if _, dup := entries[name]; dup {
			return nil, fmt.Errorf("add %q: already in the image", file.Path)
		}
		entries[name] = file.header(name)
		data[name] = file.Data
		for up := path.Dir(name); up != "."; up = path.Dir(up) {
			entries[up+"/"] = dir(up+"/", 0o755)
		}
	}
	return pack(entries, data)
}

func pack(entries map[string]tar.Header, data map[string][]byte) ([]byte, error) {
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		h := entries[name]
		if err := tw.WriteHeader(&h); err != nil {
			return nil, fmt.Errorf("add %s: %w", name, err)
		}
		if _, err := tw.Write(data[name]); err != nil {
			return nil, fmt.Errorf("add %s: %w", name, err)
		}
	}
	if err := tw.Close(); err != nil {
		return nil, fmt.Errorf("close layer: %w", err)
	}
	return buf.Bytes(), nil
}

func (f File) header(name string) tar.Header {
	if f.Target != "" {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: f.Target, Mode: 0o777}
	}
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(f.Data))}
}

func dir(name string, mode int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode}
}
