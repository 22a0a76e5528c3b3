package commands

import (
	"io"
	"slices"
	"time"

	"github.com/numalet/numalet/internal/cli/command"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/lab/openb"
	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/nodestate"
)

// world is what trials on a virtual clock are made of.
type world struct {
	nodes, pods string // files
	every       int
	longest     time.Duration
	cards       int
	policy      string
	seed        uint64
	out         command.Format
}

func (w *world) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&w.nodes, "nodes", "", "CSV file of nodes")
	flags.StringVar(&w.pods, "pods", "", "CSV file of pods, of which samples are drawn")
	flags.IntVar(&w.every, "every", 1, "take each so manieth node only")
	flags.DurationVar(&w.longest, "longest", 24*time.Hour, "pods that ran longer run so long")
	flags.IntVar(&w.cards, "cards", 8, "leave pods out that ask for more cards")
	flags.StringVar(&w.policy, "policy", "bestfit", "leastfit, bestfit, firstfit, nextfit or default: what the GPU profile uses")
	flags.Uint64Var(&w.seed, "seed", 1, "what samples are drawn with: equal seeds draw equally")
	flags.VarP(&w.out, "output", "o", "text or json")
}

// read returns nodes and samples.
func (w world) read() ([]*sched.Node, []fairness.Sample, error) {
	if w.nodes == "" || w.pods == "" || w.every < 1 || w.longest <= 0 {
		return nil, nil, command.WrongUsage("say where the nodes and pods are with --nodes FILE --pods FILE; --every and --longest are more than 0")
	}
	all, err := command.ReadFile(w.nodes, openb.ReadNodes)
	if err != nil {
		return nil, nil, err
	}
	var nodes []*sched.Node
	for i := 0; i < len(all); i += w.every {
		nodes = append(nodes, all[i])
	}
	samples, err := command.ReadFile(w.pods, openb.ReadSamples)
	if err != nil {
		return nil, nil, err
	}
	for i, s := range samples {
		samples[i].Took = min(s.Took, w.longest)
	}
	return nodes, slices.DeleteFunc(samples, func(s fairness.Sample) bool { return s.GPUs.Count > w.cards }), nil
}

// profile returns the way to look for nodes, as new: one for each trial.
func (w world) profile(samples []fairness.Sample) (nodestate.Profile, error) {
	var pods []*sched.Pod
	for _, s := range samples {
		pods = append(pods, s.Pod)
	}
	p, err := gpuProfile(w.policy, pods)
	if err != nil {
		return p, command.BadUsage(err)
	}
	if p.Policy == distbucket.Random {
		return p, command.WrongUsage("nothing is drawn here for policy %s: choose one whose choice is the same each time", p.Policy)
	}
	return p, nil
}

// fairnessRun is what "numalet simulate fairness" is asked for.
type fairnessRun struct {
	world
	users, least, most int
	days               float64
}

// newFairness returns "numalet simulate fairness": how an order of pods shares a
// cluster among users.
func newFairness() *cobra.Command {
	f := fairnessRun{world: world{out: command.Text}}
	cmd := &cobra.Command{
		Use:   "fairness",
		Short: "Try out how users of different appetite share a cluster",
		Long: `Try out how users of different appetite share a cluster, on a virtual clock: with the
controller's order, by score; by creation time; and as with kube-scheduler. Each user
sends pods of the trace, drawn at random: as many that ask for cards as its appetite is
wait at any time. What is said is of the second half of the time: Jain's index of
scores per weight, and how long pods that ask for cards have waited; and how many of
these wait at the end. Large pods are those that ask for several cards.`,
		Example: `  numalet simulate fairness --nodes openb_node_list_all_node.csv --pods openb_pod_list_default.csv --every 24`,
		Args:    command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.OutOrStdout())
		},
	}
	f.bind(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.users, "users", 20, "how many users")
	flags.IntVar(&f.least, "least", 4, "how many pods of the most modest one wait at any time")
	flags.IntVar(&f.most, "most", 64, "how many of the greediest one do")
	flags.Float64Var(&f.days, "days", 14, "how long, of which the second half is measured: two hours at least")
	return cmd
}

func (f fairnessRun) run(out io.Writer) error {
	if f.users < 1 || f.least < 1 || f.most < f.least {
		return command.WrongUsage("--users and --least are 1 at least, and --most is not less than --least")
	}
	nodes, samples, err := f.read()
	if err != nil {
		return err
	}
	var outcomes []fairness.Outcome
	for _, turns := range []virtual.Turns{virtual.ByScore, virtual.ByAge, virtual.LikeKube} {
		profile, err := f.profile(samples)
		if err != nil {
			return err
		}
		o, err := fairness.Share(nodes, samples, fairness.Settings{
			Users: fairness.Users(f.users, f.least, f.most), Seed: f.seed, For: time.Duration(f.days * float64(24*time.Hour)),
			Settle: fairshare.DefaultSettle, Profile: profile, Turns: turns,
		})
		if err != nil {
			return err
		}
		outcomes = append(outcomes, o)
	}
	return showFairness(out, f, nodes, outcomes)
}
