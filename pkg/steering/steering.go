// Package steering computes how interrupts and unbound workqueues are kept off some CPUs,
// and how they are put back as they were.
package steering

import (
	"maps"

	"github.com/numalet/numalet/pkg/cpuset"
)

// State says how files with CPUs were before they were changed, by their names. It is saved
// before each change, so that another process can put them back.
type State map[string]Line

// Line is one file.
type Line struct {
	Original cpuset.Set `json:"original"`
	// Written are the last two sets written to it, the later one first. The file has the
	// earlier one if the process ended between the saving of the state and the write.
	Written [2]cpuset.Set `json:"written"`
}

// wrote reports whether the file has what was written to it.
func (l Line) wrote(now cpuset.Set) bool {
	return now.Equal(l.Written[0]) || now.Equal(l.Written[1]) && !l.Written[1].Empty()
}

// Plan returns what to write so that no file has an isolated CPU, and each has its original
// set otherwise. A file whose CPUs are all isolated gets the online ones that are not.
//
//   - files are the present contents. Of those that have gone nothing is remembered.
//   - A file that somebody else changed keeps the new set as its original.
//   - inherits names the file, if it is there, whose set new files begin with: a file that
//     appeared while it was changed has the same original.
//
// All files are remembered while CPUs are isolated: a file that is not remembered then is a
// new one. The caller saves the next state, writes, and plans again: when no CPU is isolated
// and all files are as they were, the state is empty.
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

// line returns what is known of a file with the present set now.
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
