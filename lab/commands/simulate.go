package commands

import (
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/numalet/numalet/internal/cli/command"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/lab/openb"
	"github.com/numalet/numalet/lab/replay"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// simulation is what "numalet simulate" is asked for.
type simulation struct {
	nodes, pods, placements string // files
	policy                  string
	seed                    uint64
	virtual                 bool
	out                     command.Format
}

// newSimulate returns "numalet simulate": where pods would go, without a cluster.
func newSimulate() *cobra.Command {
	s := simulation{out: command.Text}
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Try out where the pods of a trace would go",
		Long: `Try out where the pods of a trace would go: each in its turn through the engine of
the controller, without a cluster. Nodes and pods are CSV files in the format of
Alibaba's openb GPU trace.`,
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
	flags.StringVar(&s.nodes, "nodes", "", "CSV file of nodes")
	flags.StringVar(&s.pods, "pods", "", "CSV file of pods")
	flags.StringVar(&s.policy, "policy", defaultPolicy, "leastfit, bestfit, firstfit, nextfit, random, or default: what the GPU profile uses")
	flags.Uint64Var(&s.seed, "seed", 0, "what the policy random draws from: equal seeds choose equally")
	flags.StringVar(&s.placements, "placements", "", "write pod,node,gpus to this CSV file")
	flags.BoolVar(&s.virtual, "virtual-clock", false, "instead, run the worked model of the two tiers on a virtual clock")
	flags.VarP(&s.out, "output", "o", "text or json")
	cmd.AddCommand(newFairness(), newStarvation())
	return cmd
}

// run reads, decides and reports.
func (s simulation) run(out io.Writer) error {
	if s.nodes == "" || s.pods == "" {
		return command.WrongUsage("say where the nodes and pods are with --nodes FILE --pods FILE")
	}
	nodes, err := command.ReadFile(s.nodes, openb.ReadNodes)
	if err != nil {
		return err
	}
	pods, err := command.ReadFile(s.pods, openb.ReadPods)
	if err != nil {
		return err
	}
	profile, err := gpuProfile(s.policy, pods)
	if err != nil {
		return command.BadUsage(err)
	}
	c, err := nodestate.New(profile)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		c.SetNode(n)
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
