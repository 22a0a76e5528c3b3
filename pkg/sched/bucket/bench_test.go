package bucket

import (
	"fmt"
	"testing"
)

func BenchmarkPick(b *testing.B) {
	for _, dims := range []int{2, 4, 6} {
		for _, fill := range []float64{0, 0.5, 0.95} {
			for _, n := range []int{1000, 10_000, 100_000} {
				nodes := cluster(n, dims, fill)
				last, beyond := edges(nodes, 50)
				for _, theta := range []struct {
					name string
					v    Vector
				}{{"coarse", coarse}, {"fine", fine}} {
					v := indexOf(b, theta.v, nodes).View()
					for _, ask := range []struct {
						name     string
						requests []Vector
					}{{"small", []Vector{small[:dims]}}, {"last", last}, {"beyond", beyond}} {
						for _, p := range []Policy{LeastFit, BestFit, FirstFit} {
							b.Run(fmt.Sprintf("dims=%d/fill=%v/theta=%s/ask=%s/%s/nodes=%d", dims, fill, theta.name, ask.name, p, n), func(b *testing.B) {
								b.ReportAllocs()
								var buf [4]*Node
								i := 0
								for b.Loop() {
									v.AppendPick(buf[:0], Query{Request: ask.requests[i%len(ask.requests)], Policy: p}, 1)
									i++
								}
							})
						}
					}
				}
			}
		}
	}
}
