package commands

import (
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/lab/openb"
	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/distbucket"
	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/filter"
)

// trial holds the flags that the commands "numalet simulate fairness", "starvation" and "forecast"
// have in common.
type trial struct {
	nodes, pods string // paths of CSV files
	every       int
	longest     time.Duration
	gpus        int
	policy      string
	seed        uint64
	out         command.Format
}

func (w *trial) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&w.nodes, "nodes", "", "CSV file of nodes.")
	flags.StringVar(&w.pods, "pods", "", "CSV file of pods, from which samples are drawn.")
	flags.IntVar(&w.every, "every", 1, "Use only every Nth node.")
	flags.DurationVar(&w.longest, "longest", 24*time.Hour, "Upper limit for the run time of a pod.")
	flags.IntVar(&w.gpus, "gpus", 8, "Leave out pods that request more GPUs than this.")
	flags.StringVar(&w.policy, "policy", "bestfit", policyHelp+".")
	flags.Uint64Var(&w.seed, "seed", 1, "Seed for drawing samples. Equal seeds draw equal samples.")
	command.OutputFlag(cmd, &w.out)
	command.CompleteFiles(cmd, "nodes", "csv")
	command.CompleteFiles(cmd, "pods", "csv")
	command.Complete(cmd, "policy", policies()...)
}

// read returns the pods of the trace and every Nth node, where N is the value of --every. It limits
// the run time of each pod to --longest, and leaves out the pods that request more GPUs than
// --gpus.
func (w trial) read() ([]*sched.Node, []fairness.Sample, error) {
	nodes, err := w.readNodes()
	if err != nil {
		return nil, nil, err
	}
	samples, err := command.ReadFile(w.pods, openb.ReadSamples)
	if err != nil {
		return nil, nil, err
	}
	for i, sample := range samples {
		samples[i].Took = min(sample.Took, w.longest)
	}
	return nodes, slices.DeleteFunc(samples, func(s fairness.Sample) bool { return s.GPUs.Count > w.gpus }), nil
}

// readNodes checks the flags and returns every Nth node of the file given by --nodes, where N is
// the value of --every.
func (w trial) readNodes() ([]*sched.Node, error) {
	if w.nodes == "" || w.pods == "" || w.every < 1 || w.longest <= 0 {
		return nil, command.WrongUsage("give the nodes and pods with --nodes FILE --pods FILE; --every and --longest are more than 0")
	}
	all, err := command.ReadFile(w.nodes, openb.ReadNodes)
	return everyNth(all, w.every), err
}

func everyNth(all []*sched.Node, n int) (nodes []*sched.Node) {
	for i := 0; i < len(all); i += n {
		nodes = append(nodes, all[i])
	}
	return nodes
}

// profile returns a new scheduling profile: how the scheduler chooses a node for a pod. Each trial
// needs a profile of its own, because a profile with the policy "fragmentation" keeps a state. It
// counts the requests of the pods that it has seen, and chooses nodes according to these counts.
func (w trial) profile() (filter.Profile, error) {
	p, err := gpuProfile(w.policy)
	if err != nil {
		return p, command.BadUsage(err)
	}
	if p.Policy == distbucket.Random {
		return p, command.WrongUsage("policy %s is not supported here: choose a deterministic policy", p.Policy)
	}
	return p, nil
}

// Limits of the values of flags.
const (
	maxUsers   = 10_000
	maxWaiting = 100_000 // upper limit of --most, the number of pods that the user with the largest demand keeps waiting
	minHours   = 2.4     // lower limit of --days, in hours; only the second half of the simulated time is measured, and a sample is taken every hour, so a half must be longer than an hour
	maxDays    = 3650
	maxTrials  = 10_000
)

// fairnessRun holds the flags of "numalet simulate fairness".
type fairnessRun struct {
	trial
	users, least, most int
	days               float64
}

// newFairness returns the command "numalet simulate fairness".
func newFairness() *cobra.Command {
	f := fairnessRun{trial: trial{out: command.Text}}
	cmd := &cobra.Command{
		Use:   "fairness",
		Short: "Simulate how users with different demand share a cluster",
		Long: `Simulate how users with different demand share a cluster, on a virtual clock. Three
orders of the waiting pods are compared: by score, as in the controller; by creation
time; and as in kube-scheduler. Each user sends random pods of the trace and keeps a
fixed number of GPU pods waiting. A user's score is an average of the GPUs that the user
has held, in which recent use counts more. Every fourth user has the weight 2, and is
entitled to twice the score of the others, which have the weight 1.

The output has, for the second half of the simulated time: Jain's fairness index of the
users' scores, each divided by the user's weight (the index is 1 if all quotients are
equal); how many of the GPUs are in use; how many pods start; how long GPU pods wait;
and how many GPU pods wait at the end. The columns "large" count only pods that request
several GPUs.`,
		Example: `  numalet simulate fairness --nodes openb_node_list_all_node.csv --pods openb_pod_list_default.csv --every 24`,
		Args:    command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.OutOrStdout())
		},
	}
	f.bind(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.users, "users", 20, "Number of users.")
	flags.IntVar(&f.least, "least", 4, "Number of pods that the user with the smallest demand keeps waiting.")
	flags.IntVar(&f.most, "most", 64, "Number of pods that the user with the largest demand keeps waiting.")
	flags.Float64Var(&f.days, "days", 14, "Number of simulated days, at least 0.1. Their second half is measured.")
	return cmd
}

func (f fairnessRun) run(out io.Writer) error {
	switch {
	case f.users < 1 || f.users > maxUsers:
		return command.WrongUsage("--users is from 1 to %d", maxUsers)
	case f.least < 1 || f.most < f.least || f.most > maxWaiting:
		return command.WrongUsage("--least is 1 or more, and --most is from --least to %d", maxWaiting)
	case !(f.days >= minHours/24 && f.days <= maxDays):
		return command.WrongUsage("--days is from %.1f to %d", minHours/24, maxDays)
	}
	nodes, samples, err := f.read()
	if err != nil {
		return err
	}
	var outcomes []fairness.Outcome
	for _, turns := range []virtual.Turns{virtual.ByScore, virtual.ByAge, virtual.LikeKube} {
		profile, err := f.profile()
		if err != nil {
			return err
		}
		o, err := fairness.Share(nodes, samples, fairness.Settings{
			Users: fairness.Users(f.users, f.least, f.most), Seed: f.seed, For: time.Duration(f.days * float64(24*time.Hour)),
			Constant: fairshare.DefaultTimeConstant, Profile: profile, Turns: turns,
		})
		if err != nil {
			return err
		}
		outcomes = append(outcomes, o)
	}
	return showFairness(out, f, nodes, outcomes)
}
