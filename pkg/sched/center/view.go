package center

import (
	"iter"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/bucket"
)

// View is the centre as it was at one moment. It never changes, and any number
// of goroutines may read it without a lock.
type View struct {
	Gains    uint64 // how often something became free, ever
	profiles []Profile
	indexes  []bucket.View
}

// View returns the newest view, without waiting: while something changes, it is
// the view of before. A view is made when someone looks, and not with every
// change, for what the indexes copy they copy once a view.
func (c *Center) View() *View {
	if c.stale.Load() && c.mu.TryLock() {
		c.publish()
		c.mu.Unlock()
	}
	return c.view.Load()
}

// publish makes the newest view. It needs c.mu.
func (c *Center) publish() {
	v := &View{Gains: c.mu.gains, profiles: c.profiles, indexes: make([]bucket.View, len(c.mu.indexes))}
	for i, index := range c.mu.indexes {
		v.indexes[i] = index.View()
	}
	c.view.Store(v)
	c.stale.Store(false)
}

// Profile returns the profile that a pod names, and the default where it names
// none, or one that there is not.
func (v *View) Profile(name string) (*Profile, bucket.View) {
	for i := range v.profiles {
		if v.profiles[i].Name == name {
			return &v.profiles[i], v.indexes[i]
		}
	}
	return &v.profiles[0], v.indexes[0]
}

// Len returns the number of nodes.
func (v *View) Len() int { return v.indexes[0].Len() }

// Nodes yields the records of all nodes in order of their names.
func (v *View) Nodes() iter.Seq[*sched.Node] {
	return func(yield func(*sched.Node) bool) {
		for n := range v.indexes[0].Nodes() {
			if !yield(n.Record.(*sched.Node)) {
				return
			}
		}
	}
}

// Score says how well a node suits a pod by the pod's profile.
func (c *Center) Score(pod *sched.Pod, node *sched.Node) sched.Score {
	profile, _ := c.View().Profile(pod.Profile)
	return profile.Score(pod, node)
}
