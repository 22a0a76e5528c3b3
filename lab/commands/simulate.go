package commands

import (
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/lab/openb"
	"github.com/numalet/numalet/lab/replay"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// policyHelp is the help text of the flag --policy. It lists all policies except random.
const policyHelp = "Node selection policy: leastfit, bestfit, firstfit, nextfit, fragmentation (also called default)"

// simulation holds the flags of "numalet simulate".
type simulation struct {
	nodes, pods, placements string // paths of CSV files
	policy                  string
	seed                    uint64
	virtual                 bool
	out                     command.Format
}

// newSimulate returns the command "numalet simulate".
func newSimulate() *cobra.Command {
	s := simulation{out: command.Text}
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Simulate the placement of the pods of a trace",
		Long: `Simulate the placement of the pods of a trace, one after the other, with the
controller's engine and without a cluster. Nodes and pods are CSV files in the format
of Alibaba's openb GPU trace.

The policies are those of the controller. The policy fragmentation (also called default)
learns from earlier pods what pods request. It places each pod on the node where the
placement makes the smallest amount of free GPU capacity useless for such requests.`,
		Example: `  numalet simulate --nodes openb_node_list_all_node.csv --pods openb_pod_list_default.csv --policy bestfit -o json
  numalet simulate --virtual-clock`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.virtual {
				return showModel(cmd.OutOrStdout(), s.out)
			}
			return s.run(cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.nodes, "nodes", "", "CSV file of nodes.")
	flags.StringVar(&s.pods, "pods", "", "CSV file of pods.")
	flags.StringVar(&s.policy, "policy", fragmentationAware, policyHelp+", or random")
	flags.Uint64Var(&s.seed, "seed", 0, "Seed of the policy random. Equal seeds give equal placements.")
	flags.StringVar(&s.placements, "placements", "", "Write the placements to this CSV file, with the columns pod, node and gpus.")
	flags.BoolVar(&s.virtual, "virtual-clock", false, "Do not simulate a trace. Compare, on a virtual clock, two ways to place 100 pods: with a single scheduler, and with 100 proposers, which search for nodes concurrently, and one committer, which assigns the nodes. The output has the times at which the pods are placed.")
	command.OutputFlag(cmd, &s.out)
	command.CompleteFiles(cmd, "nodes", "csv")
	command.CompleteFiles(cmd, "pods", "csv")
	command.Complete(cmd, "policy", append(policies(), "random")...)
	cmd.AddCommand(newFairness(), newStarvation(), newForecast())
	return cmd
}

// run places the pods of a trace and prints a report.
func (s simulation) run(out io.Writer) error {
	if s.nodes == "" || s.pods == "" {
		return command.WrongUsage("give the nodes and pods with --nodes FILE --pods FILE")
	}
	nodes, err := command.ReadFile(s.nodes, openb.ReadNodes)
	if err != nil {
		return err
	}
	pods, err := command.ReadFile(s.pods, openb.ReadPods)
	if err != nil {
		return err
	}
	profile, err := gpuProfile(s.policy)
	if err != nil {
		return command.BadUsage(err)
	}
	c, err := nodestate.New(profile)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		c.SetNode(node)
	}
	var r *rand.Rand
	if profile.Policy == distbucket.Random {
		r = rand.New(rand.NewPCG(s.seed, 0))
	}
	start := time.Now()
	placed := replay.Run(c, pods, r)
	took := time.Since(start)
	if err := s.writePlacements(placed); err != nil {
		return err
	}
	return report(s, c, pods, len(placed), took).write(out, s.out)
}

func (s simulation) writePlacements(placed []sched.Decision) error {
	if s.placements == "" {
		return nil
	}
	f, err := os.Create(s.placements)
	if err != nil {
		return err
	}
	if err := openb.WritePlacements(f, placed); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
