package queue

import (
	"cmp"
	"container/heap"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// gang is a gang with at least one known pod. GangQueue's lock guards it.
//
// Invariant: at most one of these is in the inner queue: the representative, or the
// pending pods that are queued singly.
//
// An event of a pod costs O(log pending), and O(minima + types) for the different minima and types
// of the pending pods. So these are counted, and the members of the representative are listed only
// when the gang's turn comes. If they were listed at each event, a gang would cost O(pods²) until
// all of its pods are bound.
type gang struct {
	id      string
	pending map[string]*member // by UID
	bound   map[string]bool    // UIDs
	// succeeded has the UIDs of pods that succeeded, by their owner, which does not create them
	// again.
	succeeded map[string]map[string]bool

	byAge  heapOf[*member]        // pending pods, the oldest first
	minima map[minimum]int        // number of pending pods
	types  map[fairshare.Type]int // number of pending pods

	representative *sched.Pod // in the inner queue for all pending pods; nil for none
	single         bool       // pending pods have turns of their own, apart from fresh
	fresh          []*member  // pending pods that have come since single was set
}

// member is a pending pod of a gang.
type member struct {
	Entry
	index  int       // in gang.byAge
	single bool      // it is scheduled by itself, because enough other pods of the gang are bound
	added  time.Time // to the queue
}

// minimum is how many pods start together according to a pending pod, and the owner of that pod.
type minimum struct {
	need  int
	owner string
}

func (m *member) before(other *member) bool {
	return cmp.Or(m.Created.Compare(other.Created), strings.Compare(m.Pod.UID, other.Pod.UID)) < 0
}

func (m *member) moved(to int) { m.index = to }

func newGang(id string) *gang {
	return &gang{
		id: id, pending: map[string]*member{}, bound: map[string]bool{}, succeeded: map[string]map[string]bool{},
		minima: map[minimum]int{}, types: map[fairshare.Type]int{},
	}
}

// add adds a pending pod, which is not known yet.
func (g *gang) add(m *member) {
	g.pending[m.Pod.UID] = m
	heap.Push(&g.byAge, m)
	count(g.minima, minimum{m.Pod.Gang.Need, m.Pod.Gang.Owner}, 1)
	count(g.types, m.Type, 1)
	if g.single {
		g.fresh = append(g.fresh, m)
	}
}

// remove removes a pending pod, if it is known.
func (g *gang) remove(uid string) {
	m := g.pending[uid]
	if m == nil {
		return
	}
	delete(g.pending, uid)
	heap.Remove(&g.byAge, m.index)
	count(g.minima, minimum{m.Pod.Gang.Need, m.Pod.Gang.Owner}, -1)
	count(g.types, m.Type, -1)
}

func count[K comparable](in map[K]int, key K, add int) {
	if in[key] += add; in[key] == 0 {
		delete(in, key)
	}
}

// need returns how many pods still have to start together. Each pod has the minimum that its
// gang had when the pod was created. A minimum only shrinks, so the smallest one is the
// newest. Pods of other owners that have succeeded do not count: they may belong to an earlier
// gang of the same name.
func (g *gang) need() int {
	least := math.MaxInt
	for m := range g.minima {
		least = min(least, m.need-len(g.succeeded[m.owner]))
	}
	return least - len(g.bound)
}

// empty reports whether no pod of the gang is known.
func (g *gang) empty() bool { return len(g.pending)+len(g.bound)+len(g.succeeded) == 0 }

// members returns the pending pods, the oldest first.
func (g *gang) members() []*member {
	all := slices.Clone(g.byAge)
	slices.SortFunc(all, func(a, b *member) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	return all
}

// represent returns the entry that represents the pending pods in the inner queue until the turn of
// the gang comes. It has the gang's ID and name. It is ordered by the age of the oldest pod, among
// the pods that wait for the GPUs of any member. Its pod lists no members: see complete.
func (g *gang) represent(need int) Entry {
	entry := g.byAge[0].Entry
	pod := *entry.Pod
	pod.UID, pod.Name = g.id, strings.TrimPrefix(g.id, pod.Namespace+"/")
	pod.Gang = &sched.Gang{ID: g.id, Need: need}
	for _, t := range slices.Sorted(maps.Keys(g.types)) {
		entry.Type = entry.Type.And(t)
	}
	entry.Pod = &pod
	return entry
}

// complete returns the representative with the pending pods as its members, and with what follows
// from them. It costs O(members · log members).
func (g *gang) complete() *sched.Pod {
	all, pod := g.members(), *g.representative
	pod.Gang = &sched.Gang{ID: g.id, Need: pod.Gang.Need, Members: make([]*sched.Pod, len(all))}
	for i, m := range all {
		pod.Gang.Members[i] = m.Pod
		pod.Across = pod.Across || m.Pod.Across
		if i > 0 {
			pod.Topics = union(pod.Topics, m.Pod.Topics)
		}
	}
	return &pod
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
