package queue

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// gang is what is known of one that has a pod.
type gang struct {
	id      string
	pending map[string]*member // by UID
	bound   map[string]bool
	// succeeded has the UIDs of those that have, by their owner: nobody makes them anew.
	succeeded map[string]map[string]bool
	stand     *sched.Pod // that stands for the pending ones in the queue; nil where none does
}

// member is a pending pod.
type member struct {
	Entry
	alone bool // it has a turn of its own, for enough others are bound
	since time.Time
}

// need returns how many pods still have to start at one time. A pod's minimum is of
// the time when it was made; of several the smallest is the newest. Those of other
// owners that have succeeded may be of another gang, which had the name before.
func (g *gang) need() int {
	least := math.MaxInt
	for _, m := range g.pending {
		least = min(least, m.Pod.Gang.Need-len(g.succeeded[m.Pod.Gang.Owner]))
	}
	return least - len(g.bound)
}

// empty reports whether nothing is known of a pod.
func (g *gang) empty() bool { return len(g.pending)+len(g.bound)+len(g.succeeded) == 0 }

// members returns the pending pods, the oldest first.
func (g *gang) members() []*member {
	all := make([]*member, 0, len(g.pending))
	for _, m := range g.pending {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *member) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Pod.UID, b.Pod.UID))
	})
	return all
}

// gather returns the entry that stands for the pending pods: it has the turn of the
// oldest one, and is called after the gang. It costs O(members · log members).
func (g *gang) gather(need int) Entry {
	all := g.members()
	entry, pod := all[0].Entry, *all[0].Pod
	pod.UID, pod.Name = g.id, strings.TrimPrefix(g.id, pod.Namespace+"/")
	pod.Gang = &sched.Gang{ID: g.id, Need: need, Members: make([]*sched.Pod, len(all))}
	for i, m := range all {
		pod.Gang.Members[i] = m.Pod
		pod.Across = pod.Across || m.Pod.Across
	}
	entry.Pod = &pod
	return entry
}

// single returns a pod's entry without its gang.
func (m *member) single() Entry {
	entry, pod := m.Entry, *m.Pod
	pod.Gang = nil
	entry.Pod = &pod
	return entry
}
