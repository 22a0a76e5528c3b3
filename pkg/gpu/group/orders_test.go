package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group/pack"
	"github.com/numalet/numalet/pkg/sched"
)

// machines returns one node for each of the given numbers, with that number of GPUs.
func machines(gpus ...int) Nodes {
	nodes := Nodes{}
	for n, count := range gpus {
		inventory := &gpu.Inventory{}
		for i := range count {
			inventory.GPUs = append(inventory.GPUs, gpu.GPU{UUID: fmt.Sprintf("n%03d-%d", n, i), Index: i, Model: "A100"})
		}
		nodes[fmt.Sprintf("n%03d", n)] = inventory
	}
	return nodes
}

// records returns a sched.Node for each node, with all GPUs free.
func records(nodes Nodes) []*sched.Node {
	var all []*sched.Node
	for name, node := range nodes {
		n := &sched.Node{Name: name}
		for _, unit := range node.Units() {
			n.GPUs = append(n.GPUs, sched.GPU{ID: unit.ID, Type: unit.Type, Free: sched.WholeGPU})
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b *sched.Node) int { return cmpNames(a.Name, b.Name) })
	return all
}

func cmpNames(a, b string) int { return slices.Compare([]byte(a), []byte(b)) }

// arrive allocates GPUs to containers, one after another. The parameter `order` has the number of
// GPUs that each container requests, in the order in which the containers start. For each container
// that got no GPUs, arrive returns the number of GPUs that it requested.
func arrive(t *testing.T, groups []Group, nodes Nodes, order []int) (stranded []int) {
	t.Helper()
	grouping, all := New(groups, nodes), records(nodes)
	for _, count := range order {
		m, err := grouping.Match(Request{Tenant: "a", GPURequest: sched.GPURequest{Count: count, Milli: sched.WholeGPU}})
		if err != nil {
			t.Fatal(err)
		}
		o, err := m.Best(all)
		if err != nil {
			stranded = append(stranded, count)
			continue
		}
		i := slices.IndexFunc(all, func(node *sched.Node) bool { return node.Name == o.Node })
		all[i] = all[i].Take(sched.Holding{GPUs: o.GPUs[:count]})
	}
	return stranded
}

// confirmed returns the groups that a user creates from a proposal.
func confirmed(p Proposal, e Estimate) []Group {
	var groups []Group
	for i, group := range p.Groups {
		groups = append(groups, group.Group(fmt.Sprintf("a-%04d", i), "a", e))
	}
	return groups
}

func estimate(demands []int) Estimate {
	e := Estimate{Form: gpu.Physical}
	for _, demand := range demands {
		e.Demands = append(e.Demands, Demand{GPUs: demand})
	}
	return e
}

// TestWorkedExample starts containers with 2, 1, 2 and 3 GPUs on two nodes of four GPUs, in all 12
// orders. It checks that all containers get GPUs from the proposed groups. For comparison, it
// repeats this with only one group for each node: then one container gets no GPUs in four of the
// orders, so the smaller groups are needed.
func TestWorkedExample(t *testing.T) {
	nodes, e := machines(4, 4), estimate([]int{2, 1, 2, 3})
	proposal, err := Propose(nodes, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	byMachine := []Group{
		{Name: "m0", Tenants: []string{"a"}, Form: gpu.Physical, Bindings: []Binding{{"n000", []string{"0", "1", "2", "3"}}}},
		{Name: "m1", Tenants: []string{"a"}, Form: gpu.Physical, Bindings: []Binding{{"n001", []string{"0", "1", "2", "3"}}}},
	}
	stranded := map[string][]int{}
	orders := 0
	each([]int{1, 2, 2, 3}, func(order []int) {
		orders++
		if left := arrive(t, confirmed(proposal, e), nodes, order); left != nil {
			t.Errorf("order %v: %v stranded with the groups proposed", order, left)
		}
		if left := arrive(t, byMachine, nodes, order); left != nil {
			stranded[fmt.Sprint(order)] = left
		}
	})
	want := map[string][]int{"[1 2 2 3]": {3}, "[2 1 2 3]": {3}, "[1 2 3 2]": {2}, "[2 1 3 2]": {2}}
	if diff := cmp.Diff(want, stranded); diff != "" || orders != 12 {
		t.Errorf("%d orders; stranded by machine (-want +got):\n%s", orders, diff)
	}
}

// The function `each` calls the function given as `do` once for every order of the given numbers,
// which must be sorted. Orders that differ only in the places of equal numbers count as one order.
func each(numbers []int, do func([]int)) {
	var build func(order, left []int)
	build = func(order, left []int) {
		if len(left) == 0 {
			do(order)
		}
		for i := range left {
			if i == 0 || left[i] != left[i-1] {
				build(append(slices.Clone(order), left[i]), slices.Delete(slices.Clone(left), i, i+1))
			}
		}
	}
	build(nil, numbers)
}

// TestAnyOrder checks that all containers get GPUs from the proposed groups, in any order in which
// they start. The containers together use all GPUs of random machines. The test tries several
// random orders.
func TestAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		var gpus, demands []int
		for range 1 + r.IntN(6) {
			gpus = append(gpus, 1+r.IntN(8))
			for left := gpus[len(gpus)-1]; left > 0; left -= demands[len(demands)-1] {
				demands = append(demands, 1+r.IntN(left))
			}
		}
		nodes, e := machines(gpus...), estimate(demands)
		proposal, err := Propose(nodes, e, nil)
		if err != nil || proposal.Outcome != pack.All || len(proposal.Unplaced) > 0 {
			t.Fatalf("machines %v, demands %v: %+v, %v", gpus, demands, proposal, err)
		}
		for range 4 {
			r.Shuffle(len(demands), func(i, j int) { demands[i], demands[j] = demands[j], demands[i] })
			if left := arrive(t, confirmed(proposal, e), nodes, demands); left != nil {
				t.Fatalf("machines %v, demands %v: %v stranded", gpus, demands, left)
			}
		}
	}
}
