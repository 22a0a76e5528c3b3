package commands

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// starvation holds the flags of "numalet simulate starvation".
type starvation struct {
	trial
	trials int
	hours  float64
	known  bool
}

// newStarvation returns the command "numalet simulate starvation".
func newStarvation() *cobra.Command {
	s := starvation{trial: trial{out: command.Text}}
	cmd := &cobra.Command{
		Use:   "starvation",
		Short: "Simulate whether a large pod starves among small ones",
		Long: `Simulate whether a large pod starves among small ones, on a virtual clock. Twenty users
send an endless stream of pods of at most one GPU. Then the largest pod of the trace
arrives. Two orders of the pods are compared: by score, as in the controller, which
reserves a node for the large pod; and as in kube-scheduler, which reserves no node.

The output shows three times since the arrival of the large pod: when a node was last
reserved for it; when enough of the pods that ran on this node at the time of the
reservation had ended for the large pod to fit; and when the large pod started. The
output also shows the GPU time of the small pods, in percent of what they get without
the large pod. If there are several trials, and the large pod got a reservation and
started in each of them, the mean and the worst case follow.`,
		Example: `  numalet simulate starvation --nodes openb_node_list_all_node.csv --pods openb_pod_list_default.csv --every 24`,
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.run(cmd.OutOrStdout()) },
	}
	s.bind(cmd)
	flags := cmd.Flags()
	flags.IntVar(&s.trials, "trials", 5, "Number of trials, each with its own seed.")
	flags.Float64Var(&s.hours, "hours", 48, "Simulated hours. The large pod arrives after half of them.")
	flags.BoolVar(&s.known, "ends-known", false, "Let the scheduler know when each pod will end.")
	return cmd
}

func (s starvation) run(out io.Writer) error {
	switch {
	case s.trials < 1 || s.trials > maxTrials:
		return command.WrongUsage("--trials is from 1 to %d", maxTrials)
	case !(s.hours >= 0.1 && s.hours <= 24*maxDays):
		return command.WrongUsage("--hours is from 0.1 to %d", 24*maxDays)
	}
	nodes, samples, err := s.read()
	if err != nil {
		return err
	}
	var all []starved
	for _, turns := range []virtual.Turns{virtual.ByScore, virtual.LikeKube} {
		for i := range s.trials {
			one, err := s.try(nodes, samples, turns, s.seed+uint64(i))
			if err != nil {
				return err
			}
			all = append(all, one)
		}
	}
	if s.out == command.JSON {
		return command.WriteJSON(out, all)
	}
	return showStarved(out, all)
}

func (s starvation) try(nodes []*sched.Node, samples []fairness.Sample, turns virtual.Turns, seed uint64) (starved, error) {
	profile, err := s.profile()
	if err != nil {
		return starved{}, err
	}
	o, err := fairness.Starve(nodes, samples, fairness.Settings{
		Users: fairness.Users(20, 4, 64), Seed: seed, For: time.Duration(s.hours * float64(time.Hour)),
		Constant: fairshare.DefaultTimeConstant, Profile: profile, Turns: turns, EndsKnown: s.known,
	})
	if err != nil {
		return starved{}, err
	}
	return starvedOf(turns, seed, o), nil
}
