package group_test

import (
	"fmt"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
)

func ExamplePropose() {
	nodes := group.Nodes{}
	for _, node := range []string{"n1", "n2"} {
		inventory := &gpu.Inventory{}
		for i := range 4 {
			inventory.GPUs = append(inventory.GPUs, gpu.GPU{UUID: fmt.Sprintf("%s-%d", node, i), Index: i, Model: "A100"})
		}
		nodes[node] = inventory
	}
	e := group.Estimate{Form: gpu.Physical, Demands: []group.Demand{{GPUs: 2}, {GPUs: 1}, {GPUs: 2}, {GPUs: 3}}}
	proposal, err := group.Propose(nodes, e, nil)
	if err != nil {
		fmt.Println(err)
	}
	for _, g := range proposal.Groups {
		fmt.Println(g.Demand.GPUs, g.GPUs)
	}
	// Output:
	// 2 [n2-0 n2-1]
	// 1 [n1-3]
	// 2 [n2-2 n2-3]
	// 3 [n1-0 n1-1 n1-2]
}

func ExampleMatch_Best() {
	nodes := group.Nodes{"n1": {GPUs: []gpu.GPU{{UUID: "x", Model: "T4"}, {UUID: "y", Index: 1, Model: "T4"}}}}
	grouping := group.New([]group.Group{
		{Name: "g", Tenants: []string{"a"}, Form: gpu.Physical, Bindings: []group.Binding{{Node: "n1", GPUs: []string{"1"}}}},
	}, nodes)
	record := &sched.Node{Name: "n1", GPUs: []sched.GPU{{ID: "x", Type: "T4", Free: 1000}, {ID: "y", Type: "T4", Free: 1000}}}
	for _, tenant := range []string{"a", "b"} {
		match, _ := grouping.Match(group.Request{Tenant: tenant, GPURequest: sched.GPURequest{Count: 1, Milli: sched.WholeGPU}})
		offer, err := match.Best([]*sched.Node{record})
		fmt.Println(match, offer.GPUs, err)
	}
	// Output:
	// GPU group g [{y 1000}] <nil>
	// the GPUs in no group [{x 1000}] <nil>
}
