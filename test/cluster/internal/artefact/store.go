// Package artefact caches build results. An artefact is a directory whose name contains a hash of
// all inputs. So if an input changes, the result gets a new directory. Each directory is built
// under a temporary name and then renamed, so an incomplete build is never used.
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

// Recipe describes how to build one artefact.
type Recipe struct {
	Name   string
	Inputs []string // everything that the result depends on, such as versions, flags and contents of sources
	Make   func(dir string) error
}

// Path returns the directory of the artefact of r, whether it exists or not.
func (s Store) Path(r Recipe) string {
	sum := sha256.Sum256([]byte(strings.Join(r.Inputs, "\x00")))
	return filepath.Join(s.Dir, fmt.Sprintf("%s-%x", r.Name, sum[:6]))
}

// Has reports whether the artefact of r exists.
func (s Store) Has(r Recipe) bool {
	_, err := os.Stat(s.Path(r))
	return err == nil
}

// Get builds the artefact of r unless it exists, and returns its directory. A failed build leaves
// no files behind. If another process builds the same artefact at the same time, the build that ends
// first is kept.
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
	if err := os.Rename(tmp, dir); err != nil && !s.Has(r) {
		return "", fmt.Errorf("make %s: %w", r.Name, err)
	}
	return dir, nil
}
