package distbucket

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Clusters for benchmarks. Dimensions, as many as asked of: CPU in thousandths, memory in MiB, GPUs, pods, most CPUs free on one NUMA node,
// local disk in GiB.
var (
	capacity = Vector{128_000, 1 << 20, 8, 250, 64, 4000}
	coarse   = Vector{4000, 1 << 15, 1, 10, 4, 250}
	fine     = Vector{1, 1, 1, 1, 1, 1}
	small    = Vector{2000, 8 << 10, 0, 1, 1, 10}
)

// cluster returns n nodes of which the share fill of everything is taken, give or take: every dimension by itself, so that nodes run out of
// different things.
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

// edges returns requests that just fit somewhere and requests that just fit nowhere: along random directions, the last that some node covers
// and the next beyond. No request is harder to answer.
func edges(nodes []Node, count int) (last, beyond []Vector) {
	r := rand.New(rand.NewPCG(2, 2))
	for range count {
		way := make([]float64, len(nodes[0].Free))
		for d := range way {
			way[d] = float64(capacity[d]) * (0.05 + r.Float64())
		}
		reach, farthest := 0.0, Vector(nil)
		for _, n := range nodes {
			if scale := along(way, n.Free); scale > reach {
				reach, farthest = scale, n.Free
			}
		}
		fits := make(Vector, len(way))
		for d := range way {
			fits[d] = min(int64(way[d]*reach), farthest[d])
		}
		fails := fits
		for slices.ContainsFunc(nodes, func(n Node) bool { return n.Free.Covers(fails) }) {
			fails = fails.plus(1)
		}
		last, beyond = append(last, fits), append(beyond, fails)
	}
	return last, beyond
}

// plus returns v with n more of everything.
func (v Vector) plus(n int64) Vector {
	sum := slices.Clone(v)
	for d := range sum {
		sum[d] += n
	}
	return sum
}

// along returns how far along a way a node covers.
func along(way []float64, free Vector) float64 {
	scale := 1e9
	for d := range way {
		scale = min(scale, float64(free[d])/way[d])
	}
	return scale
}

func indexOf(tb testing.TB, theta Vector, nodes []Node) *Index {
	tb.Helper()
	x, err := New(Config{Theta: theta[:len(nodes[0].Free)]})
	if err != nil {
		tb.Fatal(err)
	}
	for _, n := range nodes {
		if err := x.Add(n); err != nil {
			tb.Fatal(err)
		}
	}
	return x
}
