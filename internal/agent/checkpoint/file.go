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

// Version is the format that Save writes. A file of another version is
// damaged as far as Load is concerned.
const Version = 1

// ErrDamaged says that a file was there and could not be trusted; it now lies
// beside its old place with the suffix DamagedSuffix.
var ErrDamaged = errors.New("checkpoint is damaged")

// DamagedSuffix ends the name of a file that was set aside. A later damaged
// file takes the place of an earlier one, so that they never fill the disk.
const DamagedSuffix = ".damaged"

// File keeps one value of type T as JSON at Path. It is not safe for
// concurrent use: one owner.
type File[T any] struct{ Path string }

// envelope is what stands in the file. SHA256 is over the bytes of Content, so
// a torn or edited file is found out, and the reader needs no canonical JSON.
type envelope struct {
	Version int             `json:"version"`
	SHA256  string          `json:"sha256"`
	Content json.RawMessage `json:"content"`
}

// Save replaces the file atomically and returns when it is on the disk: write
// a temporary file, fsync it, rename it, fsync the directory. After a crash at
// any point the file holds the old value or the new one.
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

// Load returns the saved value. Without a file the error is fs.ErrNotExist;
// a file that cannot be trusted is set aside and the error is ErrDamaged.
func (f File[T]) Load() (T, error) {
	var zero, value T
	text, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return zero, fmt.Errorf("load checkpoint: %w", err)
	}
	if err == nil {
		err = decode(text, &value)
	}
	if err == nil {
		return value, nil
	}
	aside := f.Path + DamagedSuffix
	if renameErr := os.Rename(f.Path, aside); renameErr != nil {
		return zero, fmt.Errorf("%w: %w; set it aside: %w", ErrDamaged, err, renameErr)
	}
	return zero, fmt.Errorf("%w: %w; it was set aside as %s", ErrDamaged, err, aside)
}

func decode(text []byte, into any) error {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("parse envelope: %w", err)
	}
	if e.Version != Version {
		return fmt.Errorf("version %d, want %d", e.Version, Version)
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

// replace makes path hold text, atomically and durably. The temporary file has
// one fixed name, so that crashes in the middle never pile files up.
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

// syncDir makes a rename in dir durable: rename(2) alone may be lost with the
// directory's blocks when the power fails.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
