// Package steering computes how to keep interrupts and unbound workqueues off some CPUs, and how to
// restore their original CPUs.
package steering

import (
	"maps"

	"github.com/numalet/numalet/pkg/cpuset"
)

// State has the original contents of files with CPUs, by file name. It is saved before each change,
// so that another process can restore the files.
type State map[string]Line

// Line is one file.
type Line struct {
	Original cpuset.Set `json:"original"`
	// Written are the last two sets for the file, the later one first. If the process ended after
	// it saved the state and before it wrote the file, the file has the earlier set.
	Written [2]cpuset.Set `json:"written"`
}

// wrote reports whether the file now has the content that was written to it.
func (l Line) wrote(now cpuset.Set) bool {
	return now.Equal(l.Written[0]) || now.Equal(l.Written[1]) && !l.Written[1].Empty()
}

// Plan returns what to write so that each file has its original set without isolated CPUs. If all
// CPUs of a file are isolated, the file gets all online CPUs that are not isolated.
//
//   - files are the present contents. The next state does not include files that no longer exist.
//   - If somebody else changed a file, its new set becomes its original set.
//   - inherits names a file, if it exists, whose set new files start with. A file that appeared
//     while that file was changed has the same original set.
//
// While CPUs are isolated, the state includes all files, so a file that is not in it is new. The
// caller saves the next state, writes the files, and plans again. When no CPU is isolated and all
// files have their original sets, the state is empty.
func (s State) Plan(files map[string]cpuset.Set, inherits string, isolated, online cpuset.Set) (next State, writes map[string]cpuset.Set) {
	next, writes = State{}, map[string]cpuset.Set{}
	for name, now := range files {
		line := s.line(name, now, inherits)
		want := line.Original.Minus(isolated)
		if want.Intersect(online).Empty() {
			want = online.Minus(isolated)
		}
		if !line.Original.Overlaps(isolated) {
			want = line.Original
		}
		if !want.Equal(now) {
			writes[name] = want
			line.Written = [2]cpuset.Set{want, now}
		}
		next[name] = line
	}
	if isolated.Empty() && len(writes) == 0 {
		next = State{}
	}
	return next, writes
}

// line returns the Line of a file whose present set is now.
func (s State) line(name string, now cpuset.Set, inherits string) Line {
	known, ok := s[name]
	if ok && known.wrote(now) {
		return known
	}
	if from, changed := s[inherits]; changed && !ok && from.wrote(now) {
		return Line{Original: from.Original, Written: [2]cpuset.Set{now}}
	}
	return Line{Original: now, Written: [2]cpuset.Set{now}}
}

// Equal reports whether two states are the same.
func (s State) Equal(t State) bool {
	return maps.EqualFunc(s, t, func(a, b Line) bool {
		return a.Original.Equal(b.Original) && a.Written[0].Equal(b.Written[0]) && a.Written[1].Equal(b.Written[1])
	})
}
