package group

import (
	"maps"
	"slices"

	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group/pack"
)

// Demand is what one container, or each one of a service, is expected to need.
type Demand struct {
	Container string // its identifier, or ""
	GPUs      int
}

// Estimate is what a tenant expects to need at one time.
type Estimate struct {
	Form    gpu.Form // Physical or Virtual; of virtual ones slices and cards are counted
	Type    string   // "" for any
	Demands []Demand
}

// Proposal is groups for an estimate: one for each demand that some node has
// enough GPUs for, in the order of the demands.
type Proposal struct {
	Groups   []Proposed
	Unplaced []Demand // for which no node has enough, however empty
	// Outcome is pack.All where no GPU is in two groups, so that all demands fit at
	// the same time; pack.Proven where that cannot be, and pack.Unknown where no way
	// was found. Then some groups share.
	Outcome pack.Outcome
}

// Proposed is the group for one demand.
type Proposed struct {
	Demand
	Node  string
	GPUs  []string // UUIDs
	Share bool     // some of them are in other groups, too
}

// Propose makes groups of the GPUs that somebody may use, so that all demands
// fit at the same time, whatever the order in which they arrive: each group is
// exactly as large as its demand, so the best fit (Match.Best) for a container is
// a group of its size, and there are as many of these as of such containers. How
// good it is, is said at pack.Pack: exact for demands that divide one another,
// such as 1, 2, 4 and 8; exact for others unless the search for a way is given
// up. On a node the larger groups choose first, the best-connected cards.
//
// Groups share GPUs only if not all demands fit. Then the largest are packed
// first, and each of the others gets the GPUs of one node that are in the fewest
// groups, on the node with the most GPUs in none. The error is a *Refusal.
func Propose(nodes Nodes, e Estimate, may Right) (Proposal, error) {
	if r := e.check(); r != nil {
		return Proposal{}, r
	}
	all := supplies(nodes, e, may)
	bins, sizes := make([]int, len(all)), make([]int, len(e.Demands))
	for i := range all {
		bins[i] = len(all[i].units)
	}
	for i, d := range e.Demands {
		sizes[i] = d.GPUs
	}
	packing := pack.Pack(bins, sizes)
	p := Proposal{Outcome: packing.Outcome}
	for i, g := range handOut(all, sizes, packing.Bin) {
		g.Demand = e.Demands[i]
		if g.Node == "" {
			p.Unplaced = append(p.Unplaced, g.Demand)
			continue
		}
		p.Groups = append(p.Groups, g)
	}
	return p, nil
}

// check says what is wrong with an estimate, or nil.
func (e Estimate) check() *Refusal {
	if e.Form != gpu.Physical && e.Form != gpu.Virtual {
		return refuse(Incomplete, "the estimate has no form: say %s or %s", gpu.Physical, gpu.Virtual)
	}
	for i, d := range e.Demands {
		if d.GPUs < 1 {
			return refuse(Incomplete, "demand %d is for %d GPUs: say how many, 1 or more, or leave it out", i+1, d.GPUs)
		}
	}
	return nil
}

// Group returns the group that is proposed, to be edited or confirmed.
func (p Proposed) Group(name, tenant string, e Estimate) Group {
	g := Group{Name: name, Tenants: []string{tenant}, Form: e.Form, Type: e.Type, Bindings: []Binding{{p.Node, p.GPUs}}}
	if p.Container != "" {
		g.Containers = []string{p.Container}
	}
	return g
}

// supplies returns the GPUs that suit an estimate, by node name.
func supplies(nodes Nodes, e Estimate, may Right) []*supply {
	g := Group{Form: e.Form, Type: e.Type}
	var all []*supply
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		s := &supply{node: name, inventory: nodes[name]}
		for _, u := range s.inventory.Units() {
			if g.holds(u) && may.allows(name, s.inventory.Cards[u.Card].UUID) {
				s.units = append(s.units, u)
			}
		}
		s.holders = make([]int, len(s.units))
		all = append(all, s)
	}
	return all
}
