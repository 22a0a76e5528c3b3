// Package steering computes what to write to the kernel's files to keep interrupts and unbound
// workqueues off isolated CPUs, and how to restore the original contents of the files.
package steering

import (
	"maps"

	"github.com/numalet/numalet/pkg/cpuset"
)

// State has the original contents of the kernel's files, by file name. Each file has a set of CPUs,
// such as the CPUs that may handle one interrupt. The caller saves the state before it writes the
// files, so that another process can restore the original contents.
type State map[string]Line

// Line has the original set of CPUs of one file, and the sets before and after the latest write of
// this file.
type Line struct {
	Original cpuset.Set `json:"original"`
	// Written[0] is the set that the file should have after the latest write. Written[1] is the set
	// that it had before this write. If the process ended after it had saved the state and before
	// it wrote the file, the file still has Written[1].
	Written [2]cpuset.Set `json:"written"`
}

// wrote reports whether the file's present set (the argument `now`) is one of the sets in l.Written.
// If it is not, another program wrote the file.
func (l Line) wrote(now cpuset.Set) bool {
	return now.Equal(l.Written[0]) || now.Equal(l.Written[1]) && !l.Written[1].Empty()
}

// Plan returns what to write, so that each file has its original set without the isolated CPUs. If
// no online CPU would remain, the file gets all online CPUs that are not isolated. A file whose
// original set has no online CPU keeps its present set, if that has no isolated CPU: the kernel
// refuses its original set until a CPU of this set is online again.
//
//   - The parameter `files` has the present contents of the files. A file that no longer exists is
//     not in `files`, and will not be in the next state.
//   - If another program has changed a file, the file's new set becomes its original set.
//   - The parameter `inherits` is the name of a default file, such as default_smp_affinity: the
//     kernel copies the set of this file to new files. So a new file may have a set that was
//     written to the default file. In this case, the original set of the default file becomes the
//     original set of the new file too.
//
// When no CPU is isolated, the next state leaves out the files that have their original sets, once the
// default file has its own. Other programs may then change these files. If a file is not in the state
// s, as at the first call, Plan takes the present set of the file as its original set. While CPUs are
// isolated, s has all files, so a file that is not in it is new. The caller saves the next state,
// writes the files, and later calls Plan again on the next state.
func (s State) Plan(files map[string]cpuset.Set, inherits string, isolated, online cpuset.Set) (next State, writes map[string]cpuset.Set) {
	next, writes = State{}, map[string]cpuset.Set{}
	for name, now := range files {
		line := s.line(name, now, inherits)
		want := line.Original.Minus(isolated)
		switch {
		case want.Overlaps(online):
		case !line.Original.Overlaps(online) && !now.Overlaps(isolated):
			want = now
		default:
			want = online.Minus(isolated)
		}
		if !want.Equal(now) {
			writes[name] = want
			line.Written = [2]cpuset.Set{want, now}
		}
		next[name] = line
	}
	if isolated.Empty() && files[inherits].Equal(next[inherits].Original) {
		maps.DeleteFunc(next, func(name string, line Line) bool { return files[name].Equal(line.Original) })
	}
	return next, writes
}

// line returns the Line of a file. The argument `now` is the file's present set. It returns the Line
// in s, or a new Line if the file is not in s or if another program has changed the file.
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
