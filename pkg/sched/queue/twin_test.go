package queue

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// twin finds the next pod by comparing all pods each time. It has no heaps, no lanes and no
// stored scores.
type twin struct {
	*testing.T
	*scene
}

func newTwin(t *testing.T, strict bool) twin { return twin{t, newScene(Options{Strict: strict})} }

// before compares two pods by the order of the queue: priority, score, age, UID.
func (w twin) before(a, b *item) bool {
	score := func(it *item) float64 { return w.scores[it.Tenant+" "+string(it.Type)] }
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(score(a), score(b)),
		a.Created.Compare(b.Created), cmp.Compare(a.Pod.UID, b.Pod.UID)) < 0
}

// first returns the first pod of a type among those for which it is true.
func (w twin) first(t fairshare.Type, is func(*item) bool) (first *item) {
	for _, it := range w.mu.items {
		if it.Type == t && is(it) && (first == nil || w.before(it, first)) {
			first = it
		}
	}
	return first
}

// overlapping returns the types of the queue that overlap one, with that one.
func (w twin) overlapping(t fairshare.Type) (all []fairshare.Type) {
	for _, k := range w.mu.classes {
		if k.name.Overlaps(t) {
			all = append(all, k.name)
		}
	}
	return all
}

// free reports whether no pod of a type blocks a given pod.
func (w twin) free(t fairshare.Type, it *item) bool {
	binding := w.first(t, func(it *item) bool {
		return it.state == WaitingOnPermit || it.state == InFlight && it.awaited && !it.bypass
	})
	head := w.head(t)
	return (binding == nil || !w.before(binding, it)) && (!w.options.Strict || head == nil || head.bypass || !w.before(head, it))
}

// head returns the first pod of a type that fits no node now, but may later.
func (w twin) head(t fairshare.Type) *item {
	return w.first(t, func(it *item) bool { return it.state == Unschedulable && !it.hopeless })
}

// next returns the pod of a type whose turn it would be if there were no other types.
func (w twin) next(t fairshare.Type) *item {
	head := w.head(t)
	free := func(it *item) bool {
		return !slices.ContainsFunc(w.overlapping(t), func(u fairshare.Type) bool { return !w.free(u, it) })
	}
	next := w.first(t, func(it *item) bool {
		return free(it) && (it.state == Active || it.state == WaitingOnPermit || it == head && it.reactivated)
	})
	if next == nil && w.class(t).failedRetries < maxFailedRetries {
		return w.first(t, func(it *item) bool { return it.state == Backoff && it.lane != nil && free(it) })
	}
	return next
}

func (w twin) class(t fairshare.Type) *class {
	return w.mu.classes[slices.IndexFunc(w.mu.classes, func(c *class) bool { return c.name == t })]
}

// take compares the pod that the queue returns with the pod that the twin expects, for the
// types in turn.
func (w twin) take() *sched.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	var want *sched.Pod
	for i := range w.mu.classes {
		k := w.mu.classes[(w.mu.last+1+i)%len(w.mu.classes)]
		if it := w.next(k.name); it != nil && want == nil {
			want = w.earliest(k.name).Pod
		}
	}
	got := w.scene.pop()
	if got != want {
		w.Fatalf("%v is taken, want %v", got, want)
	}
	return got
}

// earliest returns the pod whose turn it is among all types that overlap a type.
func (w twin) earliest(t fairshare.Type) (earliest *item) {
	for _, u := range w.overlapping(t) {
		if it := w.next(u); it != nil && (earliest == nil || w.before(it, earliest)) {
			earliest = it
		}
	}
	return earliest
}

// kinds are resource types. The last one overlaps the others.
var kinds = []string{"type-0", "type-1", "type-0|type-1"}

// act calls one random method for one of twenty pods, whether or not it is valid in the pod's
// state.
func (w twin) act(what, which, how uint8) {
	uid := fmt.Sprint(which % 20)
	pod := w.pods[uid]
	if pod == nil {
		pod = &sched.Pod{UID: uid, Name: uid}
	}
	switch what % 20 {
	case 0, 1, 2:
		gpus := 1 + int(how)%3
		if how%16 == 0 {
			gpus = mostGPUs + 1
		}
		w.arrive(uid, fmt.Sprint("tenant-", how%3), kinds[how/3%3], gpus, int32(how/6%3))
	case 3, 4, 5:
		if pod := w.take(); pod != nil && how%4 != 0 {
			w.Permit(pod)
		}
	case 6:
		w.Permit(pod)
	case 7:
		if how%2 == 0 {
			w.Placed(pod)
		} else {
			w.Undone(pod)
		}
	case 8, 9:
		w.MarkUnschedulable(pod, w.freedSeq-uint64(how%2))
	case 10:
		w.Requeue(pod)
	case 11:
		w.freedSeq++
		w.Freed(freeGPUs(fmt.Sprint("type-", how%2), int(how)%4))
	case 12:
		w.setBypass(uid, how%2 == 0)
	case 13:
		w.setScore(fmt.Sprint("tenant-", how%3), kinds[how/3%3], float64(how%5))
	case 14:
		w.pass(time.Duration(how) * time.Duration(how) * time.Millisecond)
	case 15:
		w.Remove(uid)
	case 16:
		[]func(tenant string){w.scene.bar, w.scene.unbar}[how/3%2](fmt.Sprint("tenant-", how%3))
	case 17:
		w.notify(sched.Topic{Key: []string{"even", "odd"}[how%2]})
	case 18:
		w.RetryOverdue(time.Minute, int(how%3))
	case 19:
		w.RetryPod(uid)
	}
	w.check()
}

// check fails the test if an item is in a wrong state or order.
func (w twin) check() {
	w.Helper()
	for uid, it := range w.mu.items {
		k := it.class
		var in *order
		switch {
		case it.state == Active:
			in = &k.active
		case it.state == WaitingOnPermit, it.state == InFlight && it.awaited && !it.bypass:
			in = &k.onPermit
		case it.state == Gated, it.state == Unschedulable && it.hopeless:
			in = &k.aside
		case it.state == Unschedulable:
			in = &k.unschedulable
		case it.state == Backoff && it.lane != nil:
			in = &k.earlyRetry
		}
		if (it.byAgeEntry != nil) != (it.state == Unschedulable || it.state == Gated) {
			w.Fatalf("pod %s is %s, and waiting: %t", uid, it.state, it.byAgeEntry != nil)
		}
		if in == nil != (it.lane == nil) || in != nil && (it.lane.in != in || it.lane.pods[it.index] != it || in.lanes[it.lane.index] != it.lane) {
			w.Fatalf("pod %s is %s, and not where those are", uid, it.state)
		}
	}
	depth, pods := w.Depth(), 0
	for _, s := range States() {
		pods += depth[s]
	}
	for _, k := range w.mu.classes {
		pods -= k.pods
	}
	if pods != 0 {
		w.Fatalf("states count %d pods more than types", pods)
	}
}

// notify notifies the queue of a topic, and compares the pods that it reactivates with all
// pods that have the topic.
func (w twin) notify(topic sched.Topic) {
	var want, got []string
	for uid, it := range w.mu.items {
		if it.byAgeEntry != nil && slices.Contains(it.Pod.Topics, topic) {
			want = append(want, uid)
		}
	}
	w.Notify([]sched.Topic{topic}, func(pod *sched.Pod) bool {
		if w.mu.items[pod.UID].byAgeEntry != nil {
			got = append(got, pod.UID)
		}
		return true
	})
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		w.Fatalf("%s helps %v, want %v", topic.Key, got, want)
	}
}

// drain fails the test if a pod was lost: once all pods that may start are bound, the queue is
// empty.
func (w twin) drain() {
	w.Helper()
	clear(w.waiting)
	for uid, it := range w.mu.items {
		if it.state == InFlight {
			w.Requeue(w.pods[uid])
		}
	}
	for range 100 {
		w.pass(time.Hour)
		w.RetryOverdue(0, len(w.mu.items))
		for pod := w.take(); pod != nil; pod = w.take() {
			w.Remove(pod.UID)
		}
	}
	if len(w.mu.items) > 0 || len(w.mu.classes) > 0 {
		w.Fatalf("lost: %v", w.List())
	}
}

func TestTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 200 {
		w := newTwin(t, i%2 == 0)
		for range 300 {
			w.act(uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32()))
		}
		w.drain()
	}
}

func FuzzTwin(f *testing.F) {
	f.Add(true, []byte("add, take, permit, placed, park, wake, yield"))
	f.Add(false, []byte("rescore, requeue, remove, and time passes on and on"))
	f.Fuzz(func(t *testing.T, strict bool, script []byte) {
		w := newTwin(t, strict)
		for ; len(script) >= 3; script = script[3:] {
			w.act(script[0], script[1], script[2])
		}
		w.drain()
	})
}
