package cli

import (
	"errors"
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

// planned is the output of "numalet groups plan -o json". A demand is the number of GPUs that one
// container is expected to need.
type planned struct {
	Groups   []plannedGroup `json:"groups"`   // in the order of the demands
	Unplaced []int          `json:"unplaced"` // the demands for more GPUs than any node has
}

type plannedGroup struct {
	Name   string `json:"name"`
	Node   string `json:"node"`
	GPUs   []int  `json:"gpus"` // indexes of the GPUs on the node
	Demand int    `json:"demand"`
	Shared bool   `json:"shared,omitempty"` // other planned groups have some of these GPUs, too
}

// plan converts a proposal of GPU groups to the output of "numalet groups plan".
func plan(p group.Proposal, nodes []*sched.Node) planned {
	sum := planned{Groups: []plannedGroup{}, Unplaced: []int{}}
	for i, g := range p.Groups {
		n := nodes[slices.IndexFunc(nodes, func(node *sched.Node) bool { return node.Name == g.Node })]
		row := plannedGroup{Name: fmt.Sprintf("group-%d", i+1), Node: g.Node, Demand: g.Demand.GPUs, Shared: g.Share}
		for _, id := range g.GPUs {
			row.GPUs = append(row.GPUs, slices.IndexFunc(n.GPUs, func(gpu sched.GPU) bool { return gpu.ID == id }))
		}
		sum.Groups = append(sum.Groups, row)
	}
	for _, d := range p.Unplaced {
		sum.Unplaced = append(sum.Unplaced, d.GPUs)
	}
	return sum
}

func (p planned) write(out io.Writer, f command.Format) error {
	if f == command.JSON {
		return command.WriteJSON(out, p)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "group\tnode\tGPUs\tdemand")
	for _, group := range p.Groups {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", group.Name, group.Node, strings.Trim(fmt.Sprint(group.GPUs), "[]"), group.demand())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, d := range p.Unplaced {
		fmt.Fprintf(out, "%d GPUs are more than any node has\n", d)
	}
	return nil
}

const allFit = "all demands fit at the same time"

// notFitting returns an error if not all demands of a proposal fit at the same time.
func notFitting(p group.Proposal) error {
	message := "the demands cannot all fit at the same time"
	switch p.Outcome {
	case pack.All:
		return nil
	case pack.Unknown:
		message = "no way was found to fit all demands at the same time"
	}
	if n := len(p.Unplaced); n > 0 {
		message = fmt.Sprintf("%d of the demands are for more GPUs than any node has, and %s", n, message)
	}
	return errors.New(message + ": add GPUs or reduce the demands")
}

func (g plannedGroup) demand() string {
	if g.Shared {
		return fmt.Sprintf("%d, shared", g.Demand)
	}
	return strconv.Itoa(g.Demand)
}
