package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/numalet/numalet/internal/cli/command"

	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/gpu/group/pack"
	"github.com/numalet/numalet/pkg/sched"
)

// planned is what "numalet groups plan -o json" prints: a contract.
type planned struct {
	Groups   []plannedGroup `json:"groups"`   // in the order of the demands
	Unplaced []int          `json:"unplaced"` // demands larger than any node
}

type plannedGroup struct {
	Name   string `json:"name"`
	Node   string `json:"node"`
	GPUs   []int  `json:"gpus"` // indexes
	Demand int    `json:"demand"`
	Shared bool   `json:"shared,omitempty"` // some of them are in other groups, too
}

// plan sums up a proposal.
func plan(p group.Proposal, nodes []*sched.Node) planned {
	sum := planned{Groups: []plannedGroup{}, Unplaced: []int{}}
	for i, g := range p.Groups {
		n := nodes[slices.IndexFunc(nodes, func(n *sched.Node) bool { return n.Name == g.Node })]
		row := plannedGroup{Name: fmt.Sprintf("group-%d", i+1), Node: g.Node, Demand: g.Demand.GPUs, Shared: g.Share}
		for _, id := range g.GPUs {
			row.GPUs = append(row.GPUs, slices.IndexFunc(n.GPUs, func(card sched.GPU) bool { return card.ID == id }))
		}
		sum.Groups = append(sum.Groups, row)
	}
	for _, d := range p.Unplaced {
		sum.Unplaced = append(sum.Unplaced, d.GPUs)
	}
	return sum
}

func (p planned) write(out io.Writer, f command.Format, o pack.Outcome) error {
	if f == command.JSON {
		return command.WriteJSON(out, p)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "group\tnode\tGPUs\tdemand")
	for _, g := range p.Groups {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", g.Name, g.Node, strings.Trim(fmt.Sprint(g.GPUs), "[]"), g.demand())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, d := range p.Unplaced {
		fmt.Fprintf(out, "%d GPUs are more than any node has\n", d)
	}
	_, err := fmt.Fprintln(out, map[pack.Outcome]string{
		pack.All:     "all of them fit at the same time",
		pack.Proven:  "they cannot all fit at the same time",
		pack.Unknown: "no way was found for all of them to fit at the same time",
	}[o])
	return err
}

func (g plannedGroup) demand() string {
	if g.Shared {
		return fmt.Sprintf("%d, shared", g.Demand)
	}
	return strconv.Itoa(g.Demand)
}
