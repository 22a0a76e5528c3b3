package distbucket

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The figures in docs/benchmarks/logs/performance.md come from
//
//	go test ./pkg/sched/distbucket -run '^$' -bench . -benchtime 2000x
//
// and a change is judged by ten runs before and after (-count 10) with
// golang.org/x/perf/cmd/benchstat.

var (
	sizes = []int{1000, 10_000, 100_000}
	fills = []float64{0, 0.5, 0.95}
	grain = map[string]Vector{"coarse": coarse, "fine": fine}
)

// BenchmarkPick measures questions to a view that nobody changes: a small request, the largest ones that fit somewhere, and the smallest ones
// that fit nowhere.
func BenchmarkPick(b *testing.B) {
	for _, dims := range []int{2, 4, 6} {
		for _, fill := range fills {
			for _, theta := range []string{"coarse", "fine"} {
				for _, n := range sizes {
					b.Run(fmt.Sprintf("dims=%d/fill=%v/theta=%s/nodes=%d", dims, fill, theta, n), func(b *testing.B) {
						nodes := cluster(n, dims, fill)
						v := indexOf(b, grain[theta], nodes).View()
						last, beyond := edges(nodes, 20)
						benchmarkPick(b, "ask=small", v, []Vector{small[:dims]})
						benchmarkPick(b, "ask=last", v, last)
						benchmarkPick(b, "ask=infeasible", v, beyond)
					})
				}
			}
		}
	}
}

func benchmarkPick(b *testing.B, where string, v View, requests []Vector) {
	for _, p := range []Policy{LeastFit, BestFit, FirstFit} {
		b.Run(where+"/policy="+p.String(), func(b *testing.B) {
			b.ReportAllocs()
			room := make([]*Node, 0, 1)
			for i := 0; b.Loop(); i++ {
				v.AppendPick(room, Query{Request: requests[i%len(requests)], Policy: p}, 1)
			}
		})
	}
}

// BenchmarkDecide measures what a scheduler does for a pod: pick a node, take the pod's request off it, publish. The pod placed a thousand
// decisions ago ends, so that the fill stays.
func BenchmarkDecide(b *testing.B) {
	for _, dims := range []int{2, 4, 6} {
		for _, fill := range fills {
			for _, theta := range []string{"coarse", "fine"} {
				for _, n := range sizes {
					b.Run(fmt.Sprintf("dims=%d/fill=%v/theta=%s/nodes=%d", dims, fill, theta, n), func(b *testing.B) {
						for _, p := range []Policy{LeastFit, BestFit} {
							x := indexOf(b, grain[theta], cluster(n, dims, fill))
							b.Run("policy="+p.String(), func(b *testing.B) { decide(b, x, p) })
						}
					})
				}
			}
		}
	}
}

func decide(b *testing.B, x *Index, p Policy) {
	b.ReportAllocs()
	room := make([]*Node, 0, 1)
	var placed [1000]string
	q := Query{Request: small[:x.space.dims()], Policy: p}
	for i := 0; b.Loop(); i++ {
		if old := placed[i%len(placed)]; old != "" {
			take(b, x, old, q.Request, -1)
		}
		found := x.View().AppendPick(room, q, 1)
		if len(found) == 0 {
			b.Skip("nothing fits any more: with six dimensions hardly a node has enough of each")
		}
		take(b, x, found[0].Name, q.Request, 1)
		placed[i%len(placed)] = found[0].Name
	}
}

// take takes a request off a node, sign times.
func take(b *testing.B, x *Index, name string, request Vector, sign int64) {
	old := x.Seat(name).Node()
	n := Node{Name: name, Free: make(Vector, len(request))}
	for d := range request {
		n.Free[d] = old.Free[d] - sign*request[d]
	}
	if err := x.Update(n); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkUpdate measures one change and its publication: the writer's whole cost.
func BenchmarkUpdate(b *testing.B) {
	for _, dims := range []int{2, 4, 6} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("dims=%d/nodes=%d", dims, n), func(b *testing.B) {
				nodes := cluster(n, dims, 0.5)
				x := indexOf(b, fine, nodes)
				r := rand.New(rand.NewPCG(1, 1))
				b.ReportAllocs()
				for b.Loop() {
					n := Node{Name: nodes[r.IntN(n)].Name, Free: nodes[r.IntN(n)].Free}
					if err := x.Update(n); err != nil {
						b.Fatal(err)
					}
					x.View()
				}
			})
		}
	}
}
