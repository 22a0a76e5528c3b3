package commands

import (
	"io"
	"time"

	"github.com/numalet/numalet/internal/cli/command"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// starvation is what "numalet simulate starvation" is asked for.
type starvation struct {
	world
	trials int
	hours  float64
	known  bool
}

// newStarvation returns "numalet simulate starvation": whether large work starves.
func newStarvation() *cobra.Command {
	s := starvation{world: world{out: command.Text}}
	cmd := &cobra.Command{
		Use:   "starvation",
		Short: "Try out whether a large pod starves among small ones",
		Long: `Try out whether a large pod starves among small ones, on a virtual clock: twenty users
send pods of one card at most without end, and then the largest pod of the trace comes.
Said is how long it waited, how long it had to, for the work that ran on its node when
that was held back for it, and what that cost the small work; of several trials the
mean and the worst, too.`,
		Example: `  numalet simulate starvation --nodes openb_node_list_all_node.csv --pods openb_pod_list_default.csv --every 24`,
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.run(cmd.OutOrStdout()) },
	}
	s.bind(cmd)
	flags := cmd.Flags()
	flags.IntVar(&s.trials, "trials", 5, "how many, each with another seed")
	flags.Float64Var(&s.hours, "hours", 48, "how long; the large pod comes when half of that is over")
	flags.BoolVar(&s.known, "ends-known", false, "the scheduler knows when work will end")
	return cmd
}

func (s starvation) run(out io.Writer) error {
	if s.trials < 1 || s.hours <= 0 {
		return command.WrongUsage("--trials is 1 at least, and --hours is more than 0")
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
	profile, err := s.profile(samples)
	if err != nil {
		return starved{}, err
	}
	o, err := fairness.Starve(nodes, samples, fairness.Settings{
		Users: fairness.Users(20, 4, 64), Seed: seed, For: time.Duration(s.hours * float64(time.Hour)),
		Settle: fairshare.DefaultSettle, Profile: profile, Turns: turns, EndsKnown: s.known,
	})
	return starvedOf(turns, seed, o), err
}
