package distbucket

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkShared measures decisions: proposers pick four nodes each, with a filter of some microseconds per node, and the one writer makes a
// change for each answer and publishes a view; and the changes by themselves, waiting included.
func BenchmarkShared(b *testing.B) {
	nodes := cluster(10_000, 4, 0.5)
	for _, proposers := range []int{1, 2, 4, 16} {
		b.Run(fmt.Sprintf("proposers=%d", proposers), func(b *testing.B) {
			x := indexOf(b, fine, nodes)
			var newest atomic.Pointer[View]
			publish := func() { v := x.View(); newest.Store(&v) }
			publish()
			answers, stop := propose(proposers, newest.Load)
			r := rand.New(rand.NewPCG(1, 1))
			var took []time.Duration
			for b.Loop() {
				n := Node{Name: <-answers, Free: make(Vector, 4)}
				for d := range n.Free {
					n.Free[d] = small[d] + r.Int64N(capacity[d])
				}
				start := time.Now()
				_ = x.Update(n)
				publish()
				took = append(took, time.Since(start))
			}
			stop()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "change-p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "change-p99-µs")
		})
	}
}

// propose starts proposers. What stop returns ends them.
func propose(proposers int, newest func() *View) (answers chan string, stop func()) {
	answers, done := make(chan string, 2*proposers), make(chan struct{})
	var all sync.WaitGroup
	for i := range proposers {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		q := Query{Request: small[:4], Policy: Random, Rand: r, Accept: func(*Node) bool { return busy(r) }}
		all.Go(func() {
			room := make([]*Node, 0, 4)
			for {
				room = newest().AppendPick(room[:0], q, 4)
				select {
				case answers <- room[0].Name:
				case <-done:
					return
				}
			}
		})
	}
	return answers, func() { close(done); all.Wait() }
}

// busy takes about as long as the filters of the default profile take for one node.
func busy(r *rand.Rand) bool {
	sum := uint64(0)
	for range 1500 {
		sum += r.Uint64()
	}
	return sum != 0
}
