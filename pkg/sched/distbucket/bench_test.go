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

// The figures in docs/benchmarks/logs/performance.md were measured with this command:
//
//	go test ./pkg/sched/distbucket -run '^$' -bench . -benchtime 2000x
//
// To judge a change of the code, run the command with -count 10 before and after the change.
// Compare the two outputs with golang.org/x/perf/cmd/benchstat.

var (
	sizes = []int{1000, 10_000, 100_000}
	fills = []float64{0, 0.5, 0.95}
	grain = map[string]Vector{"coarse": coarse, "fine": fine}
)

// BenchmarkPick measures searches for three kinds of requests: a small request, the largest
// requests that fit some node, and slightly larger requests that fit no node. The function `edges`
// computes the second and the third kind.
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

func benchmarkPick(b *testing.B, where string, view View, requests []Vector) {
	for _, p := range []Policy{LeastFit, BestFit, FirstFit} {
		b.Run(where+"/policy="+p.String(), func(b *testing.B) {
			b.ReportAllocs()
			room := make([]*Node, 0, 1)
			for i := 0; b.Loop(); i++ {
				view.AppendPick(room, Query{Request: requests[i%len(requests)], Policy: p}, 1)
			}
		})
	}
}

// BenchmarkDecide measures what a scheduler does with the index for each pod: it makes a view,
// picks a node, and subtracts the request from the node's free amounts. With each decision, the pod
// that was placed a thousand decisions earlier ends, so that the same share of the cluster stays in
// use.
func BenchmarkDecide(b *testing.B) {
	for _, dims := range []int{2, 4, 6} {
		for _, fill := range fills {
			for _, theta := range []string{"coarse", "fine"} {
				for _, n := range sizes {
					b.Run(fmt.Sprintf("dims=%d/fill=%v/theta=%s/nodes=%d", dims, fill, theta, n), func(b *testing.B) {
						for _, p := range []Policy{LeastFit, BestFit} {
							index := indexOf(b, grain[theta], cluster(n, dims, fill))
							b.Run("policy="+p.String(), func(b *testing.B) { decide(b, index, p) })
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
	query := Query{Request: small[:x.space.dims()], Policy: p}
	for i := 0; b.Loop(); i++ {
		if old := placed[i%len(placed)]; old != "" {
			take(b, x, old, query.Request, -1)
		}
		found := x.View().AppendPick(room, query, 1)
		if len(found) == 0 {
			b.Skip("nothing fits any more: with six dimensions hardly a node has enough of each")
		}
		take(b, x, found[0].Name, query.Request, 1)
		placed[i%len(placed)] = found[0].Name
	}
}

// take subtracts the request from the free amounts of a node if `sign` is 1, and adds it if
// `sign` is -1.
func take(b *testing.B, x *Index, name string, request Vector, sign int64) {
	old := x.Handle(name).Node()
	node := Node{Name: name, Free: make(Vector, len(request))}
	for d := range request {
		node.Free[d] = old.Free[d] - sign*request[d]
	}
	if err := x.Update(node); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkUpdate measures one call of Update and the call of View after it. In a scheduler, the
// goroutine that writes the index makes these two calls whenever a node changes.
func BenchmarkUpdate(b *testing.B) {
	for _, dims := range []int{2, 4, 6} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("dims=%d/nodes=%d", dims, n), func(b *testing.B) {
				nodes := cluster(n, dims, 0.5)
				index := indexOf(b, fine, nodes)
				r := rand.New(rand.NewPCG(1, 1))
				b.ReportAllocs()
				for b.Loop() {
					node := Node{Name: nodes[r.IntN(n)].Name, Free: nodes[r.IntN(n)].Free}
					if err := index.Update(node); err != nil {
						b.Fatal(err)
					}
					index.View()
				}
			})
		}
	}
}

// BenchmarkShared measures decisions with several goroutines that search the index (proposers), and
// one goroutine that writes it at the same time. Each proposer picks four nodes, with a filter that
// takes some microseconds for each node. Whenever a proposer answers with the name of a node, the
// writer updates this node and makes a new view. The benchmark also reports how long the update and
// the view take together.
func BenchmarkShared(b *testing.B) {
	nodes := cluster(10_000, 4, 0.5)
	for _, proposers := range []int{1, 2, 4, 16} {
		b.Run(fmt.Sprintf("proposers=%d", proposers), func(b *testing.B) {
			index := indexOf(b, fine, nodes)
			var newest atomic.Pointer[View]
			publish := func() { v := index.View(); newest.Store(&v) }
			publish()
			answers, stop := propose(proposers, newest.Load)
			r := rand.New(rand.NewPCG(1, 1))
			var took []time.Duration
			for b.Loop() {
				node := Node{Name: <-answers, Free: make(Vector, 4)}
				for d := range node.Free {
					node.Free[d] = small[d] + r.Int64N(capacity[d])
				}
				start := time.Now()
				_ = index.Update(node)
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

// propose starts goroutines (proposers). Each of them repeatedly searches the view that the
// function `newest` returns, and sends the name of a node that fits to the returned channel. The
// returned function stops the goroutines.
func propose(proposers int, newest func() *View) (answers chan string, stop func()) {
	answers, done := make(chan string, 2*proposers), make(chan struct{})
	var all sync.WaitGroup
	for i := range proposers {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		query := Query{Request: small[:4], Policy: Random, Rand: r, Accept: func(*Node) bool { return busy(r) }}
		all.Go(func() {
			room := make([]*Node, 0, 4)
			for {
				room = newest().AppendPick(room[:0], query, 4)
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

// busy is a filter that accepts every node. It runs for about as long as the filters of the default
// scheduling profile need for one node.
func busy(r *rand.Rand) bool {
	sum := uint64(0)
	for range 1500 {
		sum += r.Uint64()
	}
	return sum != 0
}

// These are the nodes and requests of the benchmarks. A benchmark uses the first few of six
// dimensions: CPU in millicores, memory in MiB, GPUs, pods, the largest number of free CPUs on one
// NUMA node, and local disk in GiB.
var (
	capacity = Vector{128_000, 1 << 20, 8, 250, 64, 4000}
	coarse   = Vector{4000, 1 << 15, 1, 10, 4, 250}
	fine     = Vector{1, 1, 1, 1, 1, 1}
	small    = Vector{2000, 8 << 10, 0, 1, 1, 10}
)

// cluster returns n nodes. The parameter `fill` is the average share of each resource that is in use,
// from 0 to 1. The share is random for each node and dimension, so different nodes run out of
// different resources.
func cluster(n, dims int, fill float64) []Node {
	r := rand.New(rand.NewPCG(1, uint64(dims)))
	nodes := make([]Node, n)
	for i := range nodes {
		free := make(Vector, dims)
		for d := range free {
			used := min(1, max(0, fill+min(fill, 1-fill)*r.NormFloat64()))
			free[d] = int64(float64(capacity[d]) * (1 - used))
		}
		nodes[i] = Node{Name: fmt.Sprintf("node-%06d", i), Free: free}
	}
	return nodes
}

// edges returns requests that are hard for a search: `count` requests that just fit some node, and
// `count` requests that are slightly too large for all nodes. For each pair of requests, it chooses
// a random ratio between the amounts of a request. The first request of the pair is the largest one
// with this ratio that fits some node. The second request is slightly larger.
func edges(nodes []Node, count int) (last, beyond []Vector) {
	r := rand.New(rand.NewPCG(2, 2))
	for range count {
		way := make([]float64, len(nodes[0].Free))
		for d := range way {
			way[d] = float64(capacity[d]) * (0.05 + r.Float64())
		}
		reach, farthest := 0.0, Vector(nil)
		for _, node := range nodes {
			if scale := along(way, node.Free); scale > reach {
				reach, farthest = scale, node.Free
			}
		}
		fits := make(Vector, len(way))
		for d := range way {
			fits[d] = min(int64(way[d]*reach), farthest[d])
		}
		fails := fits
		for slices.ContainsFunc(nodes, func(node Node) bool { return node.Free.Covers(fails) }) {
			fails = fails.plus(1)
		}
		last, beyond = append(last, fits), append(beyond, fails)
	}
	return last, beyond
}

// plus returns a copy of v in which every amount is larger by n.
func (v Vector) plus(n int64) Vector {
	sum := slices.Clone(v)
	for d := range sum {
		sum[d] += n
	}
	return sum
}

// along returns the largest factor by which the request `way` can be multiplied so that it still
// fits the free amounts of a node.
func along(way []float64, free Vector) float64 {
	scale := 1e9
	for d := range way {
		scale = min(scale, float64(free[d])/way[d])
	}
	return scale
}

func indexOf(tb testing.TB, theta Vector, nodes []Node) *Index {
	tb.Helper()
	index, err := New(Config{Theta: theta[:len(nodes[0].Free)]})
	if err != nil {
		tb.Fatal(err)
	}
	for _, node := range nodes {
		if err := index.Add(node); err != nil {
			tb.Fatal(err)
		}
	}
	return index
}
