package controller

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkWaiting measures what pods that fit no node cost other pods. The cluster has 5,000
// nearly full nodes and an API server that takes 2 ms for a Binding. The benchmark binds a backlog
// of 2,000 pods, and then 200 pods that are created one by one. It does this twice: without other
// pods, and with 3,000 older pods and a gang that fit no node. The benchmark reports the CPU time
// of the process for each pod of the backlog, and how long the backlog and the later pods take. Run
// it with -benchtime 1x.
func BenchmarkWaiting(b *testing.B) {
	const backlog = 2000
	for _, waiting := range []int{0, 3000} {
		b.Run(fmt.Sprint("waiting=", waiting), func(b *testing.B) {
			w := newCrowd(b, 5000)
			for i := range waiting {
				w.add(unplaceable(i))
			}
			for i := range min(waiting, 201) {
				w.add(lone(i, 201))
			}
			time.Sleep(time.Millisecond) // so that the pods that are added next have a later creation time
			for i := range backlog {
				w.add(ordinary(i))
			}
			spent := processorTime()
			b.ResetTimer()
			defer w.run()()
			w.awaitBound(backlog)
			b.ReportMetric(b.Elapsed().Seconds(), "s/backlog")
			b.ReportMetric(float64((processorTime()-spent).Microseconds())/backlog, "cpu-µs/pod")
			var took []time.Duration
			for i := range fresh {
				began := time.Now()
				w.add(ordinary(backlog + i))
				w.awaitBound(int64(backlog + i + 1))
				took = append(took, time.Since(began))
				time.Sleep(20 * time.Millisecond)
			}
			slices.Sort(took)
			b.ReportMetric(took[fresh/2].Seconds()*1000, "p50-ms")
			b.ReportMetric(took[fresh*99/100].Seconds()*1000, "p99-ms")
		})
	}
}

func (w *crowd) awaitBound(pods int64) {
	for w.bound.Load() < pods {
		time.Sleep(100 * time.Microsecond)
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for an invalid first argument
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
