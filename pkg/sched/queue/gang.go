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

// gang is a gang with at least one pod that is pending, bound or has succeeded. GangQueue's lock
// guards it.
//
// Invariant: the inner queue (GangQueue.Queue) has the pending pods of the gang in one of three
// forms: as one entry that represents all of them (the field `representative`), as one entry for
// each of them, or not at all.
//
// Complexity: the gang has p pending pods, which wait for t different types of resource and have m
// different values of the type `minimum`. To add or remove a pod, or to record that it is bound,
// takes O(log p + m + t · log t) time, not counting the calls of the inner queue. If all pending
// pods then get entries of their own in the inner queue, or lose these entries, it takes
// O(p · log p) time. To keep this cost low, the maps `minima` and `types` count the pending pods,
// and the members of the representative are listed only when the gang's turn comes. If they were
// listed whenever a pod is added or bound, a gang of n pods would take O(n²) time until all its
// pods are bound.
type gang struct {
	id      string
	pending map[string]*member // by UID
	bound   map[string]bool    // UIDs of the bound pods
	// succeeded has the UIDs of pods that have succeeded, by the UID of their owner
	// (sched.Gang.Owner). The owner does not create replacements for these pods.
	succeeded map[string]map[string]bool

	byAge  heapOf[*member]        // pending pods, the oldest first
	minima map[minimum]int        // number of pending pods with each minimum
	types  map[fairshare.Type]int // number of pending pods that wait for each type of resource

	representative *sched.Pod // the pod that represents all pending pods in the inner queue; nil if the inner queue has no such pod
	single         bool       // the pending pods have entries of their own in the inner queue, except those in the field `fresh`, whose entries are yet to be added
	fresh          []*member  // if `single` is true: new pending pods whose entries are not in the inner queue yet
}

// member is a pending pod of a gang.
type member struct {
	Entry
	index  int       // index in gang.byAge
	single bool      // this pod has an entry of its own in the inner queue, because it need not start together with other pods of the gang (the method `need` returned 0 or less)
	added  time.Time // when it was added to the queue
}

// minimum has what a pending pod says about its gang: how many pods of the gang have to start
// together (need), and the owner of the pod (owner, from sched.Gang.Owner).
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

// add adds a pending pod that the gang does not have yet.
func (g *gang) add(m *member) {
	g.pending[m.Pod.UID] = m
	heap.Push(&g.byAge, m)
	count(g.minima, minimum{m.Pod.Gang.Need, m.Pod.Gang.Owner}, 1)
	count(g.types, m.Type, 1)
	if g.single {
		g.fresh = append(g.fresh, m)
	}
}

// remove removes a pod from the pending pods, if it is one of them.
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

// need returns how many pods of the gang still have to start together: the gang's minimum, less the
// pods that are bound or have succeeded. Each pending pod has the minimum that the gang had when
// that pod was created, so pending pods may have different minima. A gang's minimum is expected
// never to grow. So the method computes the difference for each of these minima, and returns the
// smallest one. From the minimum of a pending pod, it subtracts only those succeeded pods that have
// the same owner as that pod. Succeeded pods of other owners may belong to an earlier gang with the
// same name, and therefore the same ID.
func (g *gang) need() int {
	least := math.MaxInt
	for m := range g.minima {
		least = min(least, m.need-len(g.succeeded[m.owner]))
	}
	return least - len(g.bound)
}

// empty reports whether the gang has no pending, bound or succeeded pod.
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

// represent returns the entry that represents all pending pods of the gang in the inner queue. The
// pod of this entry has the gang's ID as its UID, and the gang's name. The entry has the priority,
// the tenant and the age of the oldest pending pod. The entry waits for one type of resource, in
// which the types of all pending pods are combined (fairshare.Type.And): if some pods need GPUs,
// this type is a type of GPU, and if the pods need different models of GPU, this type overlaps the
// types of all these models. The entry's pod does not list the members of the gang. The method
// `complete` adds them when the gang's turn comes.
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

// complete returns the gang's representative with the pending pods as its members (Gang.Members).
// It also sets Across and Topics of the representative from those of the members. For n members, it
// takes O(n · log n) time, plus the time to merge their topics.
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

// union returns the topics of a and b without duplicates. It changes neither list.
func union(a, b []sched.Topic) []sched.Topic {
	for _, topic := range b {
		if !slices.Contains(a, topic) {
			a = append(slices.Clip(a), topic)
		}
	}
	return a
}

// alone returns an entry for the pod without its gang, so that the pod is scheduled by itself.
func (m *member) alone() Entry {
	entry, pod := m.Entry, *m.Pod
	pod.Gang = nil
	entry.Pod = &pod
	return entry
}
