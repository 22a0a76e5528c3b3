package queue

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// lives has functions that each simulate the events in the life of a gang, from the creation of
// its pods until no pod of the gang is pending. The keys name the cases.
var lives = map[string]func(q *GangQueue, pods []*sched.Pod){
	"all start together": func(q *GangQueue, pods []*sched.Pod) {
		q.addAll(pods, len(pods))
		q.placeAll(pods)
	},
	"half start together": func(q *GangQueue, pods []*sched.Pod) {
		q.addAll(pods, len(pods)/2)
		q.placeAll(pods)
	},
	"one by one": func(q *GangQueue, pods []*sched.Pod) {
		q.addAll(pods, 1)
		q.placeAll(pods)
	},
	"deleted before their turn": func(q *GangQueue, pods []*sched.Pod) {
		q.addAll(pods, 1)
		for _, pod := range pods {
			q.Remove(pod.UID)
		}
	},
}

func (q *GangQueue) addAll(pods []*sched.Pod, need int) {
	for i, pod := range pods {
		pod.Gang = &sched.Gang{ID: "team/train", Need: need}
		q.Add(Entry{Pod: pod, Created: time.Unix(int64(i), 0), Type: fairshare.CPU})
	}
}

// placeAll takes the gang from the queue with Poll, and then calls Bound for each of its pods.
func (q *GangQueue) placeAll(pods []*sched.Pod) {
	if gang := q.Poll(); gang == nil || len(gang.Gang.Members) != len(pods) {
		panic(fmt.Sprintf("took %v, want all pods of the gang", gang))
	}
	for _, pod := range pods {
		q.Bound(pod.UID, "team/train")
	}
}

func podsOf(n int) []*sched.Pod {
	pods := make([]*sched.Pod, n)
	for i := range pods {
		pods[i] = &sched.Pod{UID: fmt.Sprint("pod-", i), Name: fmt.Sprint("pod-", i)}
	}
	return pods
}

// TestGangCost checks that a gang of 2,000 pods causes at most six times as much work in the
// queue as a gang of 500 pods. The test measures the work by the number of allocated bytes. In
// an earlier version, the queue listed all pending pods of a gang whenever a pod was added or
// bound, so the gang of 2,000 pods caused 14 times as much work.
func TestGangCost(t *testing.T) {
	for name, live := range lives {
		t.Run(name, func(t *testing.T) {
			small, large := allocated(live, podsOf(500)), allocated(live, podsOf(2000))
			if large > 6*small {
				t.Errorf("a gang of 500 pods allocates %d KiB, one of 2,000 allocates %d KiB: want at most six times as much", small>>10, large>>10)
			}
		})
	}
}

// allocated calls the function `live` with a new queue and the given pods, and returns how many
// bytes this call allocates.
func allocated(live func(*GangQueue, []*sched.Pod), pods []*sched.Pod) uint64 {
	q := NewGangQueue(newScene(Options{}).Queue)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	live(q, pods)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// BenchmarkGang measures the total time of all calls of the queue for one gang.
func BenchmarkGang(b *testing.B) {
	for name, live := range lives {
		for _, n := range []int{1000, 2000, 4000} {
			b.Run(fmt.Sprintf("%s/pods=%d", name, n), func(b *testing.B) {
				for b.Loop() {
					live(NewGangQueue(newScene(Options{}).Queue), podsOf(n))
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/pod")
			})
		}
	}
}

// TestListLeavesTheQueueUnlocked checks that List does not hold the lock of the GangQueue while it
// describes and sorts all pods, because the scheduler needs this lock for each pod.
func TestListLeavesTheQueueUnlocked(t *testing.T) {
	q := NewGangQueue(newScene(Options{}).Queue)
	free := false
	pod := &sched.Pod{UID: "a", Wait: func(*sched.Pod) sched.Reason {
		if free = q.mu.TryLock(); free {
			q.mu.Unlock()
		}
		return sched.Reason{Code: sched.Anywhere, Detail: "quota"}
	}}
	q.Add(Entry{Pod: pod, Type: "T4", Tenant: "ann"})
	q.MarkUnschedulable(q.Poll(), 0)
	free = false // what Wait finds when List calls it counts
	if list := q.List(); len(list) != 1 || list[0].State != Gated || !free {
		t.Errorf("list %v, lock free: %v", list, free)
	}
}
