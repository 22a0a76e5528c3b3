package queue

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// The figures in docs/benchmarks/logs/performance.md were measured with this command:
//
//	go test ./pkg/sched/queue -run '^$' -bench . -benchtime 20000x -cpu 1

var sizes = []int{1000, 10_000, 100_000}

// pending returns n pods, each of which waits for one of four types of resource. They belong
// to at most 101 tenants, and half of them belong to the first tenant.
func pending(n int) []Entry {
	entries := make([]Entry, n)
	for i := range entries {
		tenant := 0
		if i%2 == 1 {
			tenant = i % 200
		}
		uid := fmt.Sprintf("%08x-0000-4000-8000-%012x", i*2654435761%(1<<32), i)
		entries[i] = Entry{
			Pod:  &sched.Pod{UID: uid, Name: uid[:8]},
			Type: fairshare.Type([]string{"cpu", "T4", "V100", "H200"}[i/2%4]), Tenant: fmt.Sprint("tenant-", tenant),
			Created: time.Unix(int64(i*7919%n), 0), Priority: int32(i / 8 % 3),
		}
	}
	return entries
}

func filled(entries []Entry) *scene {
	s := newScene(Options{Strict: true})
	for i := range 200 {
		for _, t := range []string{"cpu", "T4", "V100", "H200"} {
			s.scores[fmt.Sprintf("tenant-%d %s", i, t)] = float64(i * 31 % 200)
		}
	}
	for _, e := range entries {
		s.Add(e)
	}
	return s
}

// BenchmarkInsert measures a call of Add for a new pod and a call of Remove for the same
// pod.
func BenchmarkInsert(b *testing.B) {
	each(b, func(b *testing.B, s *scene, entries []Entry) {
		more := pending(100)
		for i := range more {
			more[i].Pod.UID = fmt.Sprint("more-", i)
		}
		for i := 0; b.Loop(); i++ {
			s.Add(more[i%100])
			s.Remove(more[i%100].Pod.UID)
		}
	})
}

// BenchmarkPop measures one cycle: Poll returns a pod, Permit permits it, and the pod is
// removed. Then a pod is added in its place, so that the number of pods does not change.
func BenchmarkPop(b *testing.B) {
	each(b, func(b *testing.B, s *scene, entries []Entry) {
		of := map[string]Entry{}
		for _, e := range entries {
			of[e.Pod.UID] = e
		}
		for b.Loop() {
			pod := s.Poll()
			s.Permit(pod)
			s.Remove(pod.UID)
			e := of[pod.UID]
			e.Created = e.Created.Add(time.Hour)
			of[pod.UID] = e
			s.Add(e)
		}
	})
}

// BenchmarkRescore measures a change of one tenant's score and the call of Rescore after it. Half
// of all pods belong to this tenant.
func BenchmarkRescore(b *testing.B) {
	each(b, func(b *testing.B, s *scene, _ []Entry) {
		for i := 0; b.Loop(); i++ {
			s.scores["tenant-0 T4"] = float64(i * 67 % 200)
			s.Rescore("tenant-0")
		}
	})
}

// BenchmarkExplain measures Explain. A user waits for its result.
func BenchmarkExplain(b *testing.B) {
	each(b, func(b *testing.B, s *scene, entries []Entry) {
		for i := 0; b.Loop(); i++ {
			s.Explain(entries[i%len(entries)].Pod.UID)
		}
	})
}

// BenchmarkMemory measures how many bytes of memory the queue needs for each pending pod,
// without the sched.Pod itself.
func BenchmarkMemory(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint("pods=", n), func(b *testing.B) {
			entries := pending(n)
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				s := filled(entries)
				runtime.GC()
				runtime.ReadMemStats(&after)
				runtime.KeepAlive(s)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B/pod")
		})
	}
}

func each(b *testing.B, measure func(*testing.B, *scene, []Entry)) {
	for _, n := range sizes {
		b.Run(fmt.Sprint("pods=", n), func(b *testing.B) {
			entries := pending(n)
			s := filled(entries)
			b.ReportAllocs()
			b.ResetTimer()
			measure(b, s, entries)
		})
	}
}
