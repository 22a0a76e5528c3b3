package distbucket

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestRandomIsFair checks that the policy Random returns each node that fits about equally often,
// whether all nodes fit or one in a thousand.
func TestRandomIsFair(t *testing.T) {
	const fitting, rounds = 10, 4000
	for _, others := range []int{0, 30, 10_000} {
		t.Run(fmt.Sprintf("others=%d", others), func(t *testing.T) {
			index, err := New(Config{Theta: Vector{1, 1}})
			if err != nil {
				t.Fatal(err)
			}
			for i := range fitting + others {
				node := Node{Name: fmt.Sprint(i), Free: Vector{int64(i % 7), 1}}
				if i < fitting {
					node.Free = Vector{8, int64(i) + 1}
				}
				if err := index.Add(node); err != nil {
					t.Fatal(err)
				}
			}
			seen := map[string]int{}
			query := Query{Request: Vector{8, 1}, Policy: Random, Rand: rand.New(rand.NewPCG(1, 1))}
			for range rounds {
				seen[index.View().pick(query, 1)[0].Name]++
			}
			for name, times := range seen {
				if mean := rounds / fitting; len(seen) != fitting || times < mean/2 || times > mean*3/2 {
					t.Errorf("node %s %d times of %d, %d different ones of %d", name, times, rounds, len(seen), fitting)
				}
			}
		})
	}
}

// TestRandTakesTurnsInLeaf checks searches with Query.Rand and the policies LeastFit and BestFit.
// Nodes whose free amounts are equal after division by Theta and rounding up are equally good, and
// form a leaf bucket. The search must return a random node of the best leaf bucket that fits, so
// that all its nodes get their turn, and never a node of another leaf bucket.
func TestRandTakesTurnsInLeaf(t *testing.T) {
	index, err := New(Config{Theta: Vector{10}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if err := index.Add(Node{Name: fmt.Sprintf("n%03d", i), Free: Vector{int64(i % 30)}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []Policy{LeastFit, BestFit} {
		plain := Query{Request: Vector{15}, Policy: p}
		shuffled := plain
		shuffled.Rand = rand.New(rand.NewPCG(1, 2))
		v := index.View()
		want, seen := v.pick(plain, 1)[0], map[string]bool{}
		for range 200 {
			got := v.pick(shuffled, 1)[0]
			seen[got.Name] = true
			if ceilDiv(got.Free[0], 10) != ceilDiv(want.Free[0], 10) || got.Free[0] < 15 {
				t.Fatalf("%s took %v, without randomness %v", p, got, want)
			}
		}
		if len(seen) < 20 {
			t.Errorf("%s took only %d different nodes of a leaf", p, len(seen))
		}
	}
}

// pick returns the nodes that AppendPick appends: up to n nodes that fit the query, best first by
// the query's policy.
func (v View) pick(query Query, n int) []*Node { return v.AppendPick(nil, query, n) }
