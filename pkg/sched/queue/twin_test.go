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

// twin is a simple model of the queue. The tests compare it with the queue. The model finds
// the next pod by comparing all pods each time. It has no heaps, and no stored scores.
type twin struct {
	*testing.T
	*scene
}

func newTwin(t *testing.T, strict bool) twin { return twin{t, newScene(Options{Strict: strict})} }

// The method `before` compares two pods by the order of the queue: priority, score, age, UID.
func (w twin) before(a, b *item) bool {
	score := func(queued *item) float64 { return w.scores[queued.Tenant+" "+string(queued.Type)] }
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(score(a), score(b)),
		a.Created.Compare(b.Created), cmp.Compare(a.Pod.UID, b.Pod.UID)) < 0
}

// The method `first` looks at the pods of the given type for which the function given as `is`
// returns true. It returns the pod among them whose turn comes first, or nil if there is none.
func (w twin) first(resourceType fairshare.Type, is func(*item) bool) (first *item) {
	for _, queued := range w.mu.items {
		if queued.Type == resourceType && is(queued) && (first == nil || w.before(queued, first)) {
			first = queued
		}
	}
	return first
}

// overlapping returns the given type and all types of the queue that overlap it.
func (w twin) overlapping(resourceType fairshare.Type) (all []fairshare.Type) {
	for _, k := range w.mu.classes {
		if k.name.Overlaps(resourceType) {
			all = append(all, k.name)
		}
	}
	return all
}

// free reports whether no pod that waits for the given type of resource blocks the given pod.
func (w twin) free(resourceType fairshare.Type, queued *item) bool {
	binding := w.first(resourceType, func(queued *item) bool {
		return queued.state == WaitingOnPermit || queued.state == InFlight && queued.awaited && !queued.bypass
	})
	head := w.head(resourceType)
	return (binding == nil || !w.before(binding, queued)) && (!w.options.Strict || head == nil || head.bypass || !w.before(head, queued))
}

// head returns, of the unschedulable pods that wait for the given type of resource, the one whose
// turn comes first. Hopeless pods (Env.Hopeless) do not count.
func (w twin) head(resourceType fairshare.Type) *item {
	return w.first(resourceType, func(queued *item) bool { return queued.state == Unschedulable && !queued.hopeless })
}

// next returns, of the pods that wait for the given type of resource, the one that the queue has to
// return before the others. It returns nil if the queue must return none of them.
func (w twin) next(resourceType fairshare.Type) *item {
	head := w.head(resourceType)
	free := func(queued *item) bool {
		return !slices.ContainsFunc(w.overlapping(resourceType), func(u fairshare.Type) bool { return !w.free(u, queued) })
	}
	next := w.first(resourceType, func(queued *item) bool {
		return free(queued) && (queued.state == Active || queued.state == WaitingOnPermit || queued == head && queued.reactivated)
	})
	if next == nil && w.class(resourceType).failedRetries < maxFailedRetries {
		return w.first(resourceType, func(queued *item) bool { return queued.state == Backoff && queued.lane != nil && free(queued) })
	}
	return next
}

func (w twin) class(resourceType fairshare.Type) *class {
	return w.mu.classes[slices.IndexFunc(w.mu.classes, func(c *class) bool { return c.name == resourceType })]
}

// take removes from the queue the pod that Next would return. It fails the test if the model
// expects another pod.
func (w twin) take() *sched.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	var want *sched.Pod
	for i := range w.mu.classes {
		k := w.mu.classes[(w.mu.last+1+i)%len(w.mu.classes)]
		if queued := w.next(k.name); queued != nil && want == nil {
			want = w.earliest(k.name).Pod
		}
	}
	got := w.scene.pop()
	if got != want {
		w.Fatalf("%v is taken, want %v", got, want)
	}
	return got
}

// earliest calls the method `next` for a type and for each type that overlaps it. It returns the
// pod among the results whose turn is first.
func (w twin) earliest(resourceType fairshare.Type) (earliest *item) {
	for _, u := range w.overlapping(resourceType) {
		if queued := w.next(u); queued != nil && (earliest == nil || w.before(queued, earliest)) {
			earliest = queued
		}
	}
	return earliest
}

// kinds are types of resource. The last type overlaps the other two.
var kinds = []string{"type-0", "type-1", "type-0|type-1"}

// act calls one method of the queue, mostly for one of twenty pods, even if the call makes no
// sense in the pod's state. Its arguments are random. The first one selects the method, the
// second one the pod, and the third one the details of the call.
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
		w.Requeue(pod, sched.Reason{})
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

// check fails the test if an item is not in the order (a sorted list of pods of a class) that
// belongs to its state, or if Depth and the classes count different numbers of pods.
func (w twin) check() {
	w.Helper()
	for uid, queued := range w.mu.items {
		k := queued.class
		var in *order
		switch {
		case queued.state == Active:
			in = &k.active
		case queued.state == WaitingOnPermit, queued.state == InFlight && queued.awaited && !queued.bypass:
			in = &k.onPermit
		case queued.state == Gated, queued.state == Unschedulable && queued.hopeless:
			in = &k.aside
		case queued.state == Unschedulable:
			in = &k.unschedulable
		case queued.state == Backoff && queued.lane != nil:
			in = &k.earlyRetry
		}
		if (queued.byAgeEntry != nil) != (queued.state == Unschedulable || queued.state == Gated) {
			w.Fatalf("pod %s is %s, and waiting: %t", uid, queued.state, queued.byAgeEntry != nil)
		}
		if in == nil != (queued.lane == nil) || in != nil && (queued.lane.in != in || queued.lane.pods[queued.index] != queued || in.lanes[queued.lane.index] != queued.lane) {
			w.Fatalf("pod %s is %s, and not where those are", uid, queued.state)
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

// notify calls Notify for a topic. It fails the test unless the waiting pods that Notify
// considers are exactly the waiting pods with the topic.
func (w twin) notify(topic sched.Topic) {
	var want, got []string
	for uid, queued := range w.mu.items {
		if queued.byAgeEntry != nil && slices.Contains(queued.Pod.Topics, topic) {
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

// drain takes all pods from the queue and removes them. It fails the test if a pod is left,
// because the queue would never return that pod.
func (w twin) drain() {
	w.Helper()
	clear(w.waiting)
	for uid, queued := range w.mu.items {
		if queued.state == InFlight {
			w.Requeue(w.pods[uid], sched.Reason{})
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
