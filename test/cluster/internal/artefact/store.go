// Package artefact caches what takes long to build. An artefact is a
// directory named by what it is and a hash of all that it is made from, so a
// change of version makes a new one and a half-built one is never seen.
package artefact

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Store is a directory of artefacts.
type Store struct{ Dir string }

// Recipe says how to make one artefact.
type Recipe struct {
	Name   string
	Inputs []string // versions, flags, contents: everything the result depends on
	Make   func(dir string) error
}

// Path is where the artefact of r lies once it is made.
func (s Store) Path(r Recipe) string {
	sum := sha256.Sum256([]byte(strings.Join(r.Inputs, "\x00")))
	return filepath.Join(s.Dir, fmt.Sprintf("%s-%x", r.Name, sum[:6]))
}

// Has reports whether the artefact of r is made.
func (s Store) Has(r Recipe) bool {
	_, err := os.Stat(s.Path(r))
	return err == nil
}

// Get makes the artefact of r unless it is there, and returns its directory.
// The result appears by one rename; a failed attempt leaves nothing behind.
func (s Store) Get(r Recipe) (string, error) {
	dir := s.Path(r)
	if s.Has(r) {
		return dir, nil
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return "", fmt.Errorf("make cache: %w", err)
	}
	tmp, err := os.MkdirTemp(s.Dir, ".making-"+r.Name+"-")
	if err != nil {
		return "", fmt.Errorf("make %s: %w", r.Name, err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", fmt.Errorf("make %s: %w", r.Name, err)
	}
	if err := r.Make(tmp); err != nil {
		return "", fmt.Errorf("make %s: %w", r.Name, err)
	}
	return dir, os.Rename(tmp, dir)
}
