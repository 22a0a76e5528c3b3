package artefact

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestGetMakesOnce(t *testing.T) {
	s, made := Store{Dir: t.TempDir()}, 0
	r := Recipe{Name: "thing", Inputs: []string{"v1"}, Make: func(dir string) error {
		made++
		return os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o644)
	}}
	first, err := s.Get(r)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Get(r); err != nil || again != first || made != 1 {
		t.Errorf("second Get = %q, %v after %d makes; want %q, nil after 1", again, err, made, first)
	}
	r.Inputs = []string{"v2"}
	if other, err := s.Get(r); err != nil || other == first || made != 2 {
		t.Errorf("Get of other inputs = %q, %v after %d makes; want another directory after 2", other, err, made)
	}
}

func TestFailedMakeLeavesNothing(t *testing.T) {
	s, broken := Store{Dir: t.TempDir()}, errors.New("broken")
	r := Recipe{Name: "thing", Make: func(dir string) error {
		_ = os.WriteFile(filepath.Join(dir, "half"), nil, 0o644)
		return broken
	}}
	if _, err := s.Get(r); !errors.Is(err, broken) {
		t.Errorf("Get = %v, want %v", err, broken)
	}
	if left, _ := os.ReadDir(s.Dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestGetTwice checks that Get succeeds if another process finishes the same artefact while Get
// builds it.
func TestGetTwice(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	fill := func(dir string) error { return os.WriteFile(filepath.Join(dir, "file"), nil, 0o644) }
	r := Recipe{Name: "twice", Make: func(dir string) error {
		if _, err := s.Get(Recipe{Name: "twice", Make: fill}); err != nil {
			return err
		}
		return fill(dir)
	}}
	if dir, err := s.Get(r); err != nil || dir != s.Path(r) {
		t.Errorf("Get = %q, %v; want %q", dir, err, s.Path(r))
	}
}
