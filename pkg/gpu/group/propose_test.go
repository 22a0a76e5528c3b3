package group

import (
	"math/rand/v2"
	"testing"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group/pack"
	"github.com/numalet/numalet/pkg/topology"
)

// FuzzPropose checks the proposals for random nodes and demands. Each group must have as many GPUs
// of one node as its demand asks for, and Check must accept it. A GPU may be in two groups only if
// both groups are marked with Share. No group may be marked if all demands fit at the same time. A
// demand may be without a group only if it fits on no node.
func FuzzPropose(f *testing.F) {
	f.Add([]byte{4, 4}, []byte{2, 1, 2, 3})
	f.Add([]byte{4, 4}, []byte{3, 3, 2, 9})
	f.Fuzz(func(t *testing.T, gpus, demands []byte) {
		nodes, e := machines(small(gpus, 5)...), estimate(small(demands, 12))
		proposal, err := Propose(nodes, e, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(proposal.Groups)+len(proposal.Unplaced) != len(e.Demands) {
			t.Fatalf("%d groups and %d unplaced of %d demands", len(proposal.Groups), len(proposal.Unplaced), len(e.Demands))
		}
		holders := map[string]int{}
		for _, group := range proposal.Groups {
			if refusals := Check(group.Group("g", "a", e), nodes, nil); len(refusals) > 0 || len(group.GPUs) != group.Demand.GPUs {
				t.Fatalf("%+v: %v", group, refusals)
			}
			for _, id := range group.GPUs {
				holders[id]++
			}
		}
		for _, group := range proposal.Groups {
			if shared(group, holders) != group.Share || group.Share && proposal.Outcome == pack.All {
				t.Fatalf("%+v with outcome %d: GPUs are in %v groups", group, proposal.Outcome, holders)
			}
		}
		for _, d := range proposal.Unplaced {
			for name, node := range nodes {
				if len(node.GPUs) >= d.GPUs {
					t.Fatalf("a demand of %d is unplaced, and %s has %d", d.GPUs, name, len(node.GPUs))
				}
			}
		}
	})
}

func shared(g ProposedGroup, holders map[string]int) bool {
	for _, id := range g.GPUs {
		if holders[id] > 1 {
			return true
		}
	}
	return false
}

// small returns numbers from 1 to 9, one for each of the first `most` bytes of the text.
func small(text []byte, most int) []int {
	var all []int
	for _, c := range text[:min(most, len(text))] {
		all = append(all, 1+int(c)%9)
	}
	return all
}

// TestProposeKeepsPairs checks that proposed groups have well-connected GPUs. On a node with
// two pairs of GPUs, each connected by an NVLink bridge, two demands for two GPUs get one
// pair each.
func TestProposeKeepsPairs(t *testing.T) {
	nodes := machines(4)
	v := nodes["n000"]
	for a := range v.GPUs {
		v.GPUs[a].NUMA = topology.Unknown
		v.Links = append(v.Links, make([]gpu.Link, 4))
		for b := range v.GPUs {
			v.Links[a][b].Level = gpu.System
			if a != b && a%2 == b%2 {
				v.Links[a][b].NVLinks = 4
			}
		}
	}
	proposal, err := Propose(nodes, estimate([]int{2, 2}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range proposal.Groups {
		a, _ := v.Find(group.GPUs[0])
		b, _ := v.Find(group.GPUs[1])
		if v.Links[a][b].NVLinks == 0 {
			t.Errorf("group of %v, which no NVLink connects", group.GPUs)
		}
	}
}

// BenchmarkPropose proposes groups on 1,000 machines of eight GPUs, for demands that together
// use all of these GPUs.
func BenchmarkPropose(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var gpus, demands []int
	for range 1000 {
		gpus = append(gpus, 8)
		for left := 8; left > 0; left -= demands[len(demands)-1] {
			demands = append(demands, 1+r.IntN(left))
		}
	}
	nodes, e := machines(gpus...), estimate(demands)
	for b.Loop() {
		if proposal, err := Propose(nodes, e, nil); err != nil || proposal.Outcome != pack.All {
			b.Fatal(proposal.Outcome, err)
		}
	}
}
