package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/topology"
)

// reader reads the kernel's file formats below one root, and collects notes.
type reader struct {
	root  fs.FS
	notes []string
}

// note records a contradiction between files and what was made of it.
func (r *reader) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// text returns a file's content without surrounding blanks, and "" for a file
// that does not exist. It ends at the first NUL: Linux before 2.6.39 counted
// one into some sysfs files.
func (r *reader) text(name string) (string, error) {
	content, err := fs.ReadFile(r.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, _, _ := strings.Cut(string(content), "\x00")
	return strings.TrimSpace(text), nil
}

// id returns the number in a file, and Unknown when the file is missing or
// empty or says -1, as int or as unsigned int.
func (r *reader) id(name string) (int, error) {
	text, err := r.text(name)
	if err != nil || text == "" {
		return topology.Unknown, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return topology.Unknown, fmt.Errorf("read %s: %q is not a number", name, text)
	}
	if n < 0 || n > math.MaxInt32 {
		return topology.Unknown, nil
	}
	return int(n), nil
}

// list returns the set in a file of list format; told is false when the file
// is missing or empty.
func (r *reader) list(name string) (set cpuset.Set, told bool, err error) {
	return r.set(name, cpuset.Parse)
}

// maskOrList returns the set in the first of two files that exists. Masks come
// first because lists were cut off at one page before Linux 5.16, see
// https://github.com/torvalds/linux/commit/75bd50fa841d.
func (r *reader) maskOrList(mask, list string) (set cpuset.Set, told bool, err error) {
	if set, told, err = r.set(mask, cpuset.ParseMask); told || err != nil {
		return set, told, err
	}
	return r.list(list)
}

func (r *reader) set(name string, parse func(string) (cpuset.Set, error)) (cpuset.Set, bool, error) {
	text, err := r.text(name)
	if err != nil || text == "" {
		return cpuset.Set{}, false, err
	}
	set, err := parse(text)
	if err != nil {
		return cpuset.Set{}, false, fmt.Errorf("read %s: %w", name, err)
	}
	return set, true, nil
}

// numbered returns the N of dir's entries prefixN, ascending; none when dir
// does not exist.
func (r *reader) numbered(dir, prefix string) ([]int, error) {
	entries, err := fs.ReadDir(r.root, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), prefix)
		if n, err := strconv.ParseUint(digits, 10, 16); ok && err == nil {
			numbers = append(numbers, int(n))
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// each returns the paths of dir's entries, none when dir does not exist.
func (r *reader) each(dir string) ([]string, error) {
	entries, err := fs.ReadDir(r.root, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		paths = append(paths, path.Join(dir, e.Name()))
	}
	return paths, nil
}
