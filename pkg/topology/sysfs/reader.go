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

// reader reads the kernel's files below a root directory, and collects notes about contradictions
// between them.
type reader struct {
	root  fs.FS
	notes []string
}

// note records a contradiction between files, and how it was resolved.
func (r *reader) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// text returns a file's trimmed content, or "" if the file does not exist. The result ends before
// the first NUL byte, because Linux before 2.6.39 wrote one at the end of some sysfs files.
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

// id returns the number in a file. It returns Unknown if the file is missing or empty, or if the
// number is negative or too large for an int32: some kernels write -1 as an unsigned number.
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

// list returns the set in a file that has a list, such as "0-3,8". The result `found` is false if the
// file is missing or empty.
func (r *reader) list(name string) (set cpuset.Set, found bool, err error) {
	return r.set(name, cpuset.Parse)
}

// maskOrList reads a set of CPUs for which the kernel has two files. It returns the set in the file
// given as `mask`. If this file is missing or empty, it returns the set in the file given as
// `list`. It prefers the mask, because Linux before 5.16 truncates lists to one page:
// https://github.com/torvalds/linux/commit/75bd50fa841d
func (r *reader) maskOrList(mask, list string) (set cpuset.Set, found bool, err error) {
	if set, found, err = r.set(mask, cpuset.ParseMask); found || err != nil {
		return set, found, err
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

// numbered finds the entries of a directory whose names consist of the given prefix and a number,
// such as cpu12. It returns these numbers in ascending order. If dir does not exist, the result is
// empty.
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

// The method `each` returns the paths of the directory entries in dir. If dir does not exist, the
// result is empty.
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
