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

// picked is the output of "numalet pick -o json".
type picked struct {
	CPUs    cpuset.Set              `json:"cpus"`
	PerNUMA map[topology.NodeID]int `json:"perNUMA"` // only NUMA nodes with picked CPUs
}

// newPick returns the command "numalet pick", which shows which CPUs a container would
// get on a machine.
func newPick() *cobra.Command {
	root, out := live, command.Text
	var o pool.PickOptions
	cmd := &cobra.Command{
		Use:   "pick",
		Short: "Try out which CPUs a container would get",
		Long: `Try out which exclusive CPUs a container would get. The agent's algorithm chooses them.
No CPU is allocated. At least one CPU stays shared.`,
		Example: `  numalet pick --policy spread --cpus 4
  numalet pick --root machine.tar --policy single --cpus 8 --used 0-3 --reserved 0,16 -o json`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.CPUs < 1 {
				return command.WrongUsage("give the number of CPUs with --cpus N, at least 1")
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
	flags.TextVar(&o.Policy, "policy", podspec.Random, "Distribution of the CPUs over NUMA nodes: spread (evenly), single (all on one NUMA node) or random (on any NUMA nodes).")
	command.Complete(cmd, "policy", podspec.Random.String(), podspec.Spread.String(), podspec.Single.String())
	flags.IntVar(&o.CPUs, "cpus", 0, "Number of CPUs.")
	flags.TextVar(&o.Used, "used", cpuset.Set{}, "CPUs that other containers hold, as a list such as 0-3,8.")
	flags.TextVar(&o.Reserved, "reserved", cpuset.Set{}, "CPUs that are never exclusive, as a list such as 0-3,8.")
	flags.Uint64Var(&o.Seed, "seed", 0, "Seed of the policy random. Equal seeds choose the same CPUs.")
	flags.BoolVar(&o.FullCores, "full-cores", false, "Allocate whole cores, so that the container shares no core with another pod.")
	command.OutputFlag(cmd, &out)
	return cmd
}

// perNUMA counts the CPUs of a set by their NUMA nodes. It leaves out NUMA nodes without CPUs of the
// set.
func perNUMA(machine *topology.Machine, cpus cpuset.Set) map[topology.NodeID]int {
	counts := map[topology.NodeID]int{}
	for _, cpu := range machine.CPUs {
		if cpus.Has(cpu.ID) {
			counts[cpu.NUMA]++
		}
	}
	return counts
}
