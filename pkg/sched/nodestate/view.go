package nodestate

import (
	"iter"
	"slices"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// View is an immutable snapshot of the indexes. The records that the indexes refer to are not part
// of the snapshot: they are always the newest. Any number of goroutines may use a View. Of its
// methods, only Holds takes a lock.
type View struct {
	FreedSeq  uint64 // State.FreedSeq when the view was made
	NarrowSeq uint64 // State.NarrowSeq when the view was made
	nodes     int    // the number of nodes in each index
	state     *State
	profiles  []filter.Profile
	indexes   []distbucket.ReservingView
	store     [1]distbucket.ReservingView // memory for `indexes` if there is only one index, which saves an allocation
}

// View returns the newest view. The view contains all earlier changes, unless another goroutine is
// updating the indexes at the same time.
func (s *State) View() *View {
	if s.stale.Load() {
		s.updateIndexes()
	}
	return s.view.Load()
}

// Profile returns the scheduling profile with the given name, and the profile's index. If the name
// is empty or unknown, it returns those of the default profile.
func (v *View) Profile(name string) (*filter.Profile, *distbucket.ReservingView) {
	i := profileOf(v.profiles, name)
	return &v.profiles[i], &v.indexes[i]
}

func profileOf(profiles []filter.Profile, name string) int {
	return max(0, slices.IndexFunc(profiles, func(p filter.Profile) bool { return p.Name == name }))
}

// Holds reports whether a pod is assigned to any node now. It takes the state's lock for a short
// time. Callers use it for the pods of a gang, some of which may already be assigned.
func (v *View) Holds(uid string) bool { return v.state.Holds(uid) }

// Len returns the number of nodes in the view.
func (v *View) Len() int { return v.nodes }

// Nodes yields the newest records of the nodes in the view, in the order of their names. It leaves
// out nodes that have been removed since the view was made.
func (v *View) Nodes() iter.Seq[*sched.Node] {
	return func(yield func(*sched.Node) bool) {
		for n := range v.indexes[0].Nodes() {
			if record := n.Record.(*sched.Slot).Newest(); record != nil && !yield(record) {
				return
			}
		}
	}
}
