package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/pkg/cpuset"
	"github.com/numalet/numalet/pkg/cpuset/pool"
	"github.com/numalet/numalet/pkg/podspec"
	"github.com/numalet/numalet/pkg/topology"
)

// picked is what "numalet pick -o json" prints: a contract.
type picked struct {
	CPUs    cpuset.Set              `json:"cpus"`
	PerNUMA map[topology.NodeID]int `json:"perNUMA"` // nodes that give none are left out
}

// newPick returns "numalet pick": which CPUs a container would get.
func newPick() *cobra.Command {
	root, out := live, command.Text
	var o pool.PickOptions
	cmd := &cobra.Command{
		Use:   "pick",
		Short: "Try out which CPUs a container would get",
		Long: `Try out which exclusive CPUs a container would get: as the agent chooses, with
nothing taken. At least one CPU stays shared.`,
		Example: `  numalet pick --policy spread --cpus 4
  numalet pick --root machine.tar --policy single --cpus 8 --used 0-3 --reserved 0,16 -o json`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.CPUs < 1 {
				return command.WrongUsage("say how many CPUs with --cpus N, 1 or more")
			}
			m, err := machine(root)
			if err != nil {
				return err
			}
			cpus, err := pool.Pick(m, o)
			if err != nil {
				return err
			}
			if out == command.JSON {
				return command.WriteJSON(cmd.OutOrStdout(), picked{cpus, perNUMA(m, cpus)})
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), cpus)
			return err
		},
	}
	rootFlag(cmd, &root)
	flags := cmd.Flags()
	flags.TextVar(&o.Policy, "policy", podspec.Random, "spread, single or random")
	flags.IntVar(&o.CPUs, "cpus", 0, "how many CPUs")
	flags.TextVar(&o.Used, "used", cpuset.Set{}, "list of CPUs that other containers hold")
	flags.TextVar(&o.Reserved, "reserved", cpuset.Set{}, "list of CPUs that are never exclusive")
	flags.Uint64Var(&o.Seed, "seed", 0, "what the policy random draws from: equal seeds choose equally")
	flags.BoolVar(&o.FullCores, "full-cores", false, "share no core with another pod")
	flags.VarP(&out, "output", "o", "text or json")
	return cmd
}

// perNUMA counts CPUs by NUMA node.
func perNUMA(m *topology.Machine, cpus cpuset.Set) map[topology.NodeID]int {
	counts := map[topology.NodeID]int{}
	for _, c := range m.CPUs {
		if cpus.Has(c.ID) {
			counts[c.NUMA]++
		}
	}
	return counts
}
