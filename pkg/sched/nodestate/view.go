package nodestate

import (
	"iter"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
)

// View is the indexes as they were at one moment, and through them the newest
// records. Any number of goroutines may read it without a lock.
type View struct {
	FreedSeq uint64 // how often something had become free, ever
	profiles []Profile
	indexes  []distbucket.ReservingView
	room     [1]distbucket.ReservingView // for the indexes, if they are so few
}

// View returns the newest view, of all changes made before if nobody else is
// making one.
func (s *State) View() *View {
	if s.stale.Load() && s.indexing.TryLock() {
		s.updateIndexes()
		s.indexing.Unlock()
	}
	return s.view.Load()
}

// Profile returns the profile that a pod names, and its index; the default where
// it names none, or one that there is not.
func (v *View) Profile(name string) (*Profile, *distbucket.ReservingView) {
	i := profileOf(v.profiles, name)
	return &v.profiles[i], &v.indexes[i]
}

func profileOf(profiles []Profile, name string) int {
	return max(0, slices.IndexFunc(profiles, func(p Profile) bool { return p.Name == name }))
}

// Len returns the number of nodes.
func (v *View) Len() int { return v.indexes[0].Len() }

// Nodes yields the newest records of the nodes in the view, in order of their
// names.
func (v *View) Nodes() iter.Seq[*sched.Node] {
	return func(yield func(*sched.Node) bool) {
		for n := range v.indexes[0].Nodes() {
			if record := n.Record.(*Slot).Newest(); record != nil && !yield(record) {
				return
			}
		}
	}
}
