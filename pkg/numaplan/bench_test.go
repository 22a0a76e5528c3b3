package numaplan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// BenchmarkPlan measures Plan for typical pods, for a pod that does not fit if each of its containers
// gets the NUMA node that fits best, and for a pod that cannot be placed. To judge a change of the
// code, compare ten runs before and after the change (-count 10) with
// golang.org/x/perf/cmd/benchstat.
func BenchmarkPlan(b *testing.B) {
	for _, tc := range []struct {
		name string
		req  Request
		view View
	}{
		{"one/random", apps(podspec.Random, 8), nodes(32, 32)},
		{"one/spread", apps(podspec.Spread, 8), nodes(32, 32)},
		{"one/single", apps(podspec.Single, 8), nodes(32, 32)},
		{"one/spread/8 nodes", apps(podspec.Spread, 20), nodes(32, 32, 32, 32, 32, 32, 32, 32)},
		{"packing", apps(podspec.Single, 5, 2, 2, 4), nodes(7, 6)},
		{"hopeless", apps(podspec.Single, 7, 7, 7, 7, 7, 7, 7, 7, 7), nodes(13, 13, 13, 13, 13, 13, 13, 13)},
	} {
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Plan(tc.req, tc.view, Hooks{})
			}
		})
	}
}

func apps(policy podspec.Policy, cpus ...int) Request {
	r := Request{Policy: policy}
	for i, cpu := range cpus {
		r.Containers = append(r.Containers, podspec.Container{Name: fmt.Sprint("app", i), CPUs: cpu})
	}
	return r
}

func nodes(free ...int) View {
	var view View
	for id, n := range free {
		view.NUMA = append(view.NUMA, NUMANode{ID: topology.NodeID(id), FreeCPUs: n})
	}
	return view
}

// TestSearchEnds searches for placements of 12 containers of random sizes on 8 NUMA nodes. It
// checks that at most one search in twenty reaches SearchLimit. The NUMA nodes together have about
// as many CPUs as the containers request, so a placement is hard to find or impossible.
func TestSearchEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	cut := 0
	const rounds = 60
	for range rounds {
		sizes := make([]int, 12)
		total := 0
		for i := range sizes {
			sizes[i] = 1 + r.IntN(16)
			total += sizes[i]
		}
		free := make([]int, 8)
		for i := range free {
			free[i] = total/len(free) + r.IntN(2)
		}
		if _, reason := Plan(apps(podspec.Single, sizes...), nodes(free...), Hooks{}); reason == SearchCut {
			cut++
		}
	}
	t.Logf("%d of %d searches were cut short", cut, rounds)
	if cut > rounds/20 {
		t.Errorf("%d of %d searches were cut short", cut, rounds)
	}
}
