package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/lab/openb"
	"github.com/numalet/numalet/pkg/gpu"
	"github.com/numalet/numalet/pkg/gpu/group"
	"github.com/numalet/numalet/pkg/sched"
)

// newGroups returns the command "numalet groups".
func newGroups() *cobra.Command {
	var at cluster
	var out command.View
	cmd := &cobra.Command{
		Use:   "groups [GROUP]...",
		Short: "Show and create GPU groups",
		Long: `Show the GPU groups of the cluster: all of them if you may list them, otherwise those
that your roles name.`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: offer(100, at.groupNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return listGroups(cmd, &at, out, args) },
	}
	at.flag(cmd)
	command.ViewFlag(cmd, &out)
	cmd.AddCommand(newGroupsPlan(), newGroupsPropose(&at))
	return cmd
}

// newGroupsPlan returns the command "numalet groups plan".
func newGroupsPlan() *cobra.Command {
	var file, kind string
	var demands []int
	out := command.Text
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Propose groups in which all demands fit at the same time",
		Long: `Propose a GPU group for each container in --demands. A GPU group is a set of GPUs that
only certain containers may use. Each group has, on one node, as many GPUs as its
container needs, so that all containers fit at the same time, in any order of arrival.
If no way to fit all containers is found, the exit status is 1. Then some groups share
GPUs, or a container has no group, because it needs more GPUs than any node has.
The nodes are a CSV file in the format of Alibaba's openb GPU trace.`,
		Example: `  numalet groups plan --nodes nodes.csv --demands 2,1,2,3
  numalet groups plan --nodes openb_node_list_all_node.csv --demands 8,4,4 --type G2 -o json`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" || len(demands) == 0 {
				return command.WrongUsage("give the nodes with --nodes FILE, and the number of GPUs of each container with --demands 2,1,…")
			}
			nodes, err := command.ReadFile(file, openb.ReadNodes)
			if err != nil {
				return err
			}
			e := group.Estimate{Form: gpu.Physical, Type: kind}
			for _, demand := range demands {
				e.Demands = append(e.Demands, group.Demand{GPUs: demand})
			}
			proposal, err := group.Propose(inventories(nodes), e, nil)
			if err != nil {
				return command.BadUsage(err)
			}
			return errors.Join(plan(proposal, nodes).write(cmd.OutOrStdout(), out), notFitting(proposal))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "nodes", "", "CSV file of nodes.")
	flags.IntSliceVar(&demands, "demands", nil, "Number of GPUs that each container needs, one number per container, such as 2,1. The GPUs of one container are on one node.")
	flags.StringVar(&kind, "type", "", "Use only GPUs of this type.")
	command.OutputFlag(cmd, &out)
	command.CompleteFiles(cmd, "nodes", "csv")
	return cmd
}

// inventories returns the GPUs of each node, by the node's name.
func inventories(nodes []*sched.Node) group.Nodes {
	all := group.Nodes{}
	for _, node := range nodes {
		inventory := &gpu.Inventory{}
		for i, device := range node.GPUs {
			inventory.GPUs = append(inventory.GPUs, gpu.GPU{UUID: device.ID, Index: i, Model: device.Type})
		}
		all[node.Name] = inventory
	}
	return all
}
