package queue

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/sched"
)

// gang is a gang with at least one known pod. GangQueue's lock guards it.
//
// Invariant: at most one of these is in the inner queue: the representative, or the
// pending pods that are queued singly.
type gang struct {
	id      string
	pending map[string]*member // by UID
	bound   map[string]bool    // UIDs
	// succeeded has the UIDs of pods that succeeded, by their owner, which does not create them
	// again.
	succeeded      map[string]map[string]bool
	representative *sched.Pod // in the inner queue for all pending pods; nil for none
}

// member is a pending pod of a gang.
type member struct {
	Entry
	single bool      // it is scheduled by itself, because enough other pods of the gang are bound
	added  time.Time // to the queue
}

// need returns how many pods still have to start together. Each pod has the minimum that its
// gang had when the pod was created. A minimum only shrinks, so the smallest one is the
// newest. Pods of other owners that have succeeded do not count: they may belong to an earlier
// gang of the same name.
func (g *gang) need() int {
	least := math.MaxInt
	for _, m := range g.pending {
		least = min(least, m.Pod.Gang.Need-len(g.succeeded[m.Pod.Gang.Owner]))
	}
	return least - len(g.bound)
}

// empty reports whether no pod of the gang is known.
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

// represent returns the entry that represents the pending pods in the inner queue. It has the
// gang's ID and name. It is ordered by the age of the oldest pod, among the pods that wait for the
// GPUs of any member. It costs O(members · log members).
func (g *gang) represent(need int) Entry {
	all := g.members()
	entry, pod := all[0].Entry, *all[0].Pod
	pod.UID, pod.Name = g.id, strings.TrimPrefix(g.id, pod.Namespace+"/")
	pod.Gang = &sched.Gang{ID: g.id, Need: need, Members: make([]*sched.Pod, len(all))}
	for i, m := range all {
		pod.Gang.Members[i] = m.Pod
		pod.Across = pod.Across || m.Pod.Across
		entry.Type = entry.Type.And(m.Type)
		if i > 0 {
			pod.Topics = union(pod.Topics, m.Pod.Topics)
		}
	}
	entry.Pod = &pod
	return entry
}

// union returns the topics that are in either list, in a new list if b adds any.
func union(a, b []sched.Topic) []sched.Topic {
	for _, topic := range b {
		if !slices.Contains(a, topic) {
			a = append(slices.Clip(a), topic)
		}
	}
	return a
}

// alone returns a pod's entry without its gang.
func (m *member) alone() Entry {
	entry, pod := m.Entry, *m.Pod
	pod.Gang = nil
	entry.Pod = &pod
	return entry
}
