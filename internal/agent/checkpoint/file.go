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

// Version is the format that Save writes, and the only one that Load reads.
const Version = 1

// ErrVersion means that a release with another format wrote the file, which Load leaves
// as it is: it is not damaged, and that release can still read it.
var ErrVersion = errors.New("checkpoint has another format")

// ErrDamaged means that the file exists but is invalid. Load has renamed it to its
// old name with DamagedSuffix.
var ErrDamaged = errors.New("checkpoint is damaged")

// DamagedSuffix ends the name of a damaged file. A later damaged file replaces an
// earlier one, so that they never fill the disk.
const DamagedSuffix = ".damaged"

// File keeps one value of type T as JSON at Path. It is not safe for concurrent
// use.
type File[T any] struct{ Path string }

// envelope is the format of the file. SHA256 is computed over the bytes of Content,
// so it detects torn and edited files without canonical JSON.
type envelope struct {
	Version int             `json:"version"`
	SHA256  string          `json:"sha256"`
	Content json.RawMessage `json:"content"`
}

// Save replaces the file atomically and returns when it is on the disk: it writes
// a temporary file, calls fsync, renames the file, and calls fsync on the
// directory. After a crash at any point the file has the old value or the new one.
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

// Load returns the saved value. The error is fs.ErrNotExist without a file, ErrVersion
// for one of another version, and ErrDamaged for an invalid one, which it renames.
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

// replace writes a file atomically and durably. The temporary file has a fixed
// name, so that crashes never leave more than one behind.
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

// syncDir makes a rename in dir durable: without it, a power failure can lose the
// rename with the blocks of the directory.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
