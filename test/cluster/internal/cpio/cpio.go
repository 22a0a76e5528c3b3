// Package cpio writes initramfs archives in the "new ASCII" format of the Linux kernel.
// Archives can be concatenated: the kernel unpacks all of them into one tree.
//
// https://docs.kernel.org/driver-api/early-userspace/buffer-format.html
package cpio

import (
	"fmt"
	"io"
	"io/fs"
	"path"
)

// File types in the mode field (stat(2)).
const (
	typeDir     = 0o040000
	typeRegular = 0o100000
	typeSymlink = 0o120000
)

// Writer writes one archive. It adds missing parent directories. Only Close returns an error: the
// first error of all methods.
type Writer struct {
	w    io.Writer
	ino  int
	dirs map[string]bool
	err  error
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, dirs: map[string]bool{".": true, "/": true}}
}

// File adds a regular file with the given permissions.
func (w *Writer) File(name string, perm fs.FileMode, body []byte) {
	w.parents(name)
	w.entry(name, typeRegular|uint32(perm.Perm()), body)
}

// Symlink adds a symbolic link with the given name and target.
func (w *Writer) Symlink(name, target string) {
	w.parents(name)
	w.entry(name, typeSymlink|0o777, []byte(target))
}

// Dir adds an empty directory. It does nothing if the directory was added before.
func (w *Writer) Dir(name string) {
	name = path.Clean(name)
	if w.dirs[name] {
		return
	}
	w.dirs[name] = true
	w.parents(name)
	w.entry(name, typeDir|0o755, nil)
}

// Close ends the archive. It does not close the underlying writer.
func (w *Writer) Close() error {
	w.entry("TRAILER!!!", 0, nil)
	return w.err
}

func (w *Writer) parents(name string) { w.Dir(path.Dir(path.Clean(name))) }

func (w *Writer) entry(name string, mode uint32, body []byte) {
	w.ino++
	w.printf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		w.ino, mode, 0, 0, 1, 0, len(body), 0, 0, 0, 0, len(name)+1, 0)
	w.printf("%s\x00", name)
	w.pad(110 + len(name) + 1)
	w.write(body)
	w.pad(len(body))
}

// pad writes zero bytes after n bytes, up to a multiple of four bytes.
func (w *Writer) pad(n int) { w.write(make([]byte, (4-n%4)%4)) }

func (w *Writer) printf(format string, args ...any) {
	w.write(fmt.Appendf(nil, format, args...))
}

func (w *Writer) write(b []byte) {
	if w.err == nil && len(b) > 0 {
		_, w.err = w.w.Write(b)
	}
}
