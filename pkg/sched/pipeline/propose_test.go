package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/internal/testutil/nodestatetest"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/filter"
	"github.com/numalet/numalet/pkg/sched/fragmentation"
	"github.com/numalet/numalet/pkg/sched/pipeline"
)

// refusing is a filter. Its method Check refuses the nodes that its field `nodes` names. Its method
// Begin returns its field `only`: the names of the only nodes that may fit, or nil if any node may
// fit.
type refusing struct {
	nodes map[string]bool
	only  []string
}

func (r refusing) Begin(*sched.Pod) ([]string, sched.Reason) { return r.only, sched.Reason{} }

func (r refusing) Check(node *sched.Node) sched.Reason {
	if r.nodes[node.Name] {
		return sched.Reason{Code: sched.Other, Detail: "refused"}
	}
	return sched.Reason{}
}

// TestRanker checks that a proposer lists nodes in the order of the profile's ranker, whichever
// nodes the filters refuse. The ranker has seen only pods like the one that is scheduled. So it
// prefers nodes on which further pods of this kind can use all GPUs that the pod leaves free. Of
// these nodes, it prefers those with the fewest free GPUs. The number in a node's name is the
// number of its GPUs: n8 has 8.
func TestRanker(t *testing.T) {
	refuse := func(n int) refusing {
		r := refusing{nodes: map[string]bool{}}
		for i := range n {
			r.nodes[fmt.Sprint("n", i)] = true
		}
		return r
	}
	for name, tc := range map[string]struct {
		filter refusing
		gpus   int
		want   []string
	}{
		"all may fit":            {refuse(0), 1, []string{"n1", "n2"}},
		"many GPUs":              {refuse(0), 8, []string{"n8", "n16"}},
		"the best are refused":   {refuse(3), 1, []string{"n3", "n4"}},
		"all but a few":          {refuse(19), 1, []string{"n19"}},
		"all are refused":        {refuse(20), 1, nil},
		"some are named":         {refusing{only: []string{"n9", "n12", "n8"}}, 8, []string{"n8", "n9"}},
		"one of them is refused": {refusing{only: []string{"n9", "n12", "n8"}, nodes: map[string]bool{"n8": true}}, 8, []string{"n9", "n12"}},
		"too many GPUs":          {refuse(0), 99, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var policy filter.NodePolicy
			if err := policy.UnmarshalText([]byte("fragmentation")); err != nil {
				t.Fatal(err)
			}
			state := nodestatetest.New(t, "cpu,gpus", policy.Apply(filter.Profile{Candidates: 2}, fragmentation.Options{}))
			for i := range 20 {
				node := &sched.Node{Name: fmt.Sprint("n", i), Allocatable: sched.Amounts{CPU: sched.MilliCPU(1000 * (20 - i)), Pods: 9}}
				for g := range i {
					node.GPUs = append(node.GPUs, sched.GPU{ID: fmt.Sprint(g), Free: sched.WholeGPU})
				}
				state.SetNode(node)
			}
			pod := &sched.Pod{Requests: sched.Amounts{CPU: 500, Pods: 1}, GPUs: sched.GPURequest{Count: tc.gpus, Milli: sched.WholeGPU}}
			var got []string
			for _, n := range pipeline.NewProposer(state.View, pipeline.ProposerOptions{Filter: tc.filter}).Propose(pod).Candidates {
				got = append(got, n.Node.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}
