// Package capture carries a machine's topology files from one computer to
// another: as a tar, or as a directory, that is read as a root of its own.
//
// It does not know which files matter (package topology/sysfs does), and never follows a link out
// of the tree.
package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// Tree is a root to discover from; Close removes what Open unpacked.
type Tree struct {
	fs.FS
	unpacked string
}

// Open returns the running machine for "/", a captured tree for another
// directory, and for a file the tar that it is, unpacked into a temporary
// directory.
func Open(name string) (*Tree, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case filepath.Clean(name) == "/":
		return &Tree{FS: os.DirFS("/")}, nil
	case info.IsDir():
		return &Tree{FS: chroot(name)}, nil
	}
	return openTar(name)
}

// Close removes the temporary directory, if there is one.
func (t *Tree) Close() error {
	if t.unpacked == "" {
		return nil
	}
	return os.RemoveAll(t.unpacked)
}

func openTar(name string) (*Tree, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	dir, err := os.MkdirTemp("", "numalet-root-")
	if err != nil {
		return nil, err
	}
	tree := &Tree{FS: chroot(dir), unpacked: dir}
	if err := Unpack(file, dir); err != nil {
		return nil, fmt.Errorf("%s is neither a directory nor a tar: %w", name, errors.Join(err, tree.Close()))
	}
	return tree, nil
}

// chroot is a directory whose links, including absolute ones, stay inside it. A
// captured tree must not show files of the machine on which it is read.
type chroot string

// Open implements fs.FS.
func (c chroot) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	inside, err := securejoin.SecureJoin(string(c), name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.Open(inside)
}
