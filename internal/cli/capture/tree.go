// Package capture copies the files that describe a machine's topology to a tar file or a directory.
// On another computer, numalet can then show the topology of that machine.
//
// The caller says which files to copy. Package topology/sysfs has the list of files that describe a
// topology. Package capture never follows a symbolic link out of a captured tree.
package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// Tree is the root directory of the running machine or of a captured machine. Close removes the
// files that Open has unpacked.
type Tree struct {
	fs.FS
	unpacked string
}

// Open opens the tree with this name. "/" is the running machine, and any other directory is a
// captured tree. If `name` is a file, it must be a tar file, which Open unpacks into a temporary
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

// Close removes the temporary directory into which Open unpacked a tar file, if there is one.
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

// chroot is a file system with the files of one directory. It resolves symbolic links inside that
// directory, even absolute links, so that a captured tree never shows files of the machine on which
// numalet reads the tree.
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
