package distbucket

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// TestViewsDoNotChange checks that changes of the index do not change its views. Several goroutines
// search views while the writer changes the index. Whenever the writer makes a view, it also makes
// a copy of the simple implementation of an index (type naive). The view and the copy must give the
// same answers. With the race detector, the test also checks that readers need no lock.
func TestViewsDoNotChange(t *testing.T) {
	type both struct {
		view View
		twin naive
	}
	w := newWorld(t, rand.New(rand.NewPCG(3, 3)))
	var newest atomic.Pointer[both]
	newest.Store(&both{w.x.View(), w.twin.copy()})
	var readers sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		readers.Go(func() {
			reader := &world{t: t, rand: rand.New(rand.NewPCG(uint64(i), 4)), x: w.x, span: w.span, many: w.many}
			for {
				select {
				case <-done:
					return
				default:
				}
				now := newest.Load()
				for range 20 {
					reader.compare(now.view, now.twin)
				}
			}
		})
	}
	for range 150 {
		for range 1 + w.rand.IntN(5) {
			w.change()
		}
		newest.Store(&both{w.x.View(), w.twin.copy()})
	}
	close(done)
	readers.Wait()
}

// TestPickAllocatesNothing checks that AppendPick for eight nodes allocates no memory, if the query
// has no candidates, and if the slice to which AppendPick appends has room for eight nodes.
func TestPickAllocatesNothing(t *testing.T) {
	nodes := cluster(2000, 4, 0.9)
	_, beyond := edges(nodes, 1)
	v := indexOf(t, coarse, nodes).View()
	room := make([]*Node, 0, 8)
	r := rand.New(rand.NewPCG(1, 1))
	for _, p := range []Policy{LeastFit, BestFit, FirstFit, NextFit, Random} {
		for what, request := range map[string]Vector{"small": small[:4], "infeasible": beyond[0]} {
			t.Run(fmt.Sprintf("%s/%s", p, what), func(t *testing.T) {
				query := Query{Request: request, Policy: p, After: cursorAfter("node-000900"), Rand: r}
				if n := testing.AllocsPerRun(100, func() { v.AppendPick(room, query, 8) }); n > 0 {
					t.Errorf("%v allocations", n)
				}
			})
		}
	}
}
