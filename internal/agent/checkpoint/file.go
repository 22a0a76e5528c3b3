package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Version is the format version of the checkpoint file that Save writes. Load reads no other
// version.
const Version = 1

// ErrVersion means that a release of Numalet with another format wrote the checkpoint file. Load
// leaves the file as it is. The file is not damaged, and the release that wrote it can still read
// it.
var ErrVersion = errors.New("checkpoint has another format")

// ErrDamaged means that the checkpoint file exists, but is invalid or cannot be read. Load has
// appended DamagedSuffix to the name of the file, unless the error says that it could not do so.
var ErrDamaged = errors.New("checkpoint is damaged")

// DamagedSuffix is what Load appends to the name of a damaged checkpoint file. Load keeps only the
// latest damaged file, so that damaged files never fill the disk.
const DamagedSuffix = ".damaged"

// File is a checkpoint file, which keeps one value of type T as JSON at Path. It is not safe for
// concurrent use.
type File[T any] struct{ Path string }

// envelope is the format of the checkpoint file. SHA256 is the checksum of the bytes of Content as
// they are in the file. With SHA256, Load detects a file that was written only in part, or edited.
type envelope struct {
	Version int             `json:"version"`
	SHA256  string          `json:"sha256"`
	Content json.RawMessage `json:"content"`
}

// Save replaces the checkpoint file atomically, and returns when the value is on the disk. It
// writes a temporary file, calls fsync, renames the file, and calls fsync on the directory. After a
// crash at any point, the checkpoint file has the old value or the new value.
func (f File[T]) Save(value T) error {
	content, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode checkpoint %s: %w", f.Path, err)
	}
	text, err := json.Marshal(envelope{Version: Version, SHA256: sum(content), Content: content})
	if err != nil {
		return fmt.Errorf("encode checkpoint %s: %w", f.Path, err)
	}
	if err := replace(f.Path, append(text, '\n')); err != nil {
		return fmt.Errorf("save checkpoint %s: %w", f.Path, err)
	}
	return nil
}

// Load returns the value in the checkpoint file. The error is fs.ErrNotExist if there is no file,
// ErrVersion if the file's format version is not Version, and ErrDamaged if the file is invalid or
// cannot be read. Load renames a damaged file.
func (f File[T]) Load() (T, error) {
	var zero, value T
	text, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return zero, fmt.Errorf("load checkpoint: %w", err)
	}
	if err == nil {
		err = decode(text, &value)
	}
	switch {
	case err == nil:
		return value, nil
	case errors.Is(err, ErrVersion):
		return zero, fmt.Errorf("load %s: %w", f.Path, err)
	}
	aside := f.Path + DamagedSuffix
	if renameErr := os.Rename(f.Path, aside); renameErr != nil {
		return zero, fmt.Errorf("%w: %w; rename it: %w", ErrDamaged, err, renameErr)
	}
	return zero, fmt.Errorf("%w: %w; it was renamed to %s", ErrDamaged, err, aside)
}

func decode(text []byte, into any) error {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("parse envelope: %w", err)
	}
	if e.Version != Version {
		return fmt.Errorf("%w: version %d, and this release reads version %d; install a release that reads it, or drain the node and delete the file",
			ErrVersion, e.Version, Version)
	}
	if got := sum(e.Content); got != e.SHA256 {
		return fmt.Errorf("checksum %s, want %s", got, e.SHA256)
	}
	if err := json.Unmarshal(e.Content, into); err != nil {
		return fmt.Errorf("parse content: %w", err)
	}
	return nil
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

// replace writes a file atomically and durably. It first writes a temporary file, whose name is
// always the same, so that crashes never leave more than one temporary file.
func replace(path string, text []byte) error {
	next := path + ".next"
	if err := write(next, text); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func write(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncDir makes a rename in the directory dir durable. Without syncDir, a power failure can undo
// the rename, because the changed directory may not be on the disk yet.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
