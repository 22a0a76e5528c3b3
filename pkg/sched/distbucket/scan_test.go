package distbucket

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVisitsAsNodesRunOut checks that a search examines few items of pages, even if different
// nodes have run out of different resources. It places pods with one GPU each until no pod
// fits any more. It counts examined items (visits) instead of time, because their number does
// not depend on the machine.
func TestVisitsAsNodesRunOut(t *testing.T) {
	const nodes, bound = 1000, 64
	for _, p := range []Policy{LeastFit, BestFit} {
		t.Run(p.String(), func(t *testing.T) {
			x, r := gpus(t, nodes), rand.New(rand.NewPCG(1, 2))
			for placed := 0; ; {
				visits := 0
				for range 500 {
					n, took := x.leastVisits(Query{Request: Vector{500, 4 << 30, 1, 1}, Policy: p, Rand: r})
					if visits += took; n == nil {
						continue
					}
					placed++
					if err := x.Update(Node{Name: n.Name, Free: n.Free.minus(Vector{500, 4 << 30, 1, 1})}); err != nil {
						t.Fatal(err)
					}
				}
				if visits > 500*bound {
					t.Fatalf("%d visits a search after %d pods, want no more than %d", visits/500, placed, bound)
				}
				if n, _ := x.leastVisits(Query{Request: Vector{500, 4 << 30, 1, 1}, Policy: p, Rand: r}); n == nil {
					return
				}
			}
		})
	}
}

// TestFirstFitGivesUp checks the policy FirstFit if few nodes fit. The scan by name must give
// up after scanLimit visits without success. The whole search must still return the first
// nodes by name that fit.
func TestFirstFitGivesUp(t *testing.T) {
	const nodes = 5000
	for one, want := range map[int]struct{ taken, visits int }{scanLimit - 1: {4, 4 * scanLimit}, scanLimit + 1: {0, scanLimit}, nodes: {0, scanLimit}} {
		var all []Node
		var fit []string
		for i := range nodes {
			node := Node{Name: fmt.Sprintf("node-%06d", i), Free: Vector{0}}
			if i%one == one-1 {
				node.Free[0], fit = 1, append(fit, node.Name)
			}
			all = append(all, node)
		}
		x, q := indexOf(t, Vector{1}, all), Query{Request: Vector{1}, Policy: FirstFit}
		a := x.View().search(q)
		s := scan{search: &a, matcher: a.matcher(), dst: make([]*entry, 4)}
		s.limit = scanLimit
		s.scanNames()
		if s.taken != want.taken || s.visits > want.visits {
			t.Errorf("one in %d fits: %d visits, %d taken, want no more than %d, and %d", one, s.visits, s.taken, want.visits, want.taken)
		}
		if diff := cmp.Diff(fit[:min(4, len(fit))], names(x.View().pick(q, 4))); diff != "" {
			t.Errorf("one in %d fits (-want +got):\n%s", one, diff)
		}
	}
}

// gpus returns an index of nodes with 64 CPUs, 512 GiB of memory and 8 free GPUs. About half
// of the CPUs and of the memory are in use.
func gpus(t *testing.T, nodes int) *Index {
	t.Helper()
	index, err := New(Config{Theta: Vector{100, 128 << 20, 1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	free := func(of float64) int64 { return int64(of * min(1, max(0, 0.5+0.5*r.NormFloat64()))) }
	for i := range nodes {
		node := Node{Name: fmt.Sprintf("node-%06d", i), Free: Vector{free(64_000), free(512 << 30), 230, 8}}
		if err := index.Add(node); err != nil {
			t.Fatal(err)
		}
	}
	return index
}

// leastVisits searches for the best four nodes that fit the query. It returns the best node,
// and the number of items that the search examined (visits).
func (x *Index) leastVisits(query Query) (*Node, int) {
	a := x.View().search(query)
	s := scan{search: &a, matcher: a.matcher(), dst: make([]*entry, 4), delta: a.matchingDelta(nil)}
	if query.Policy == LeastFit {
		s.leastFit()
	} else {
		s.bestFit()
	}
	for len(s.delta) > 0 {
		s.takeDelta()
	}
	if s.taken == 0 {
		return nil, s.visits
	}
	return &s.dst[0].Node, s.visits
}
