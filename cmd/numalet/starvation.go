package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/pkg/sched/fair"
	"github.com/numalet/numalet/pkg/sched/usage"
	"github.com/numalet/numalet/pkg/sched/virtual"
)

// starvation is what "numalet simulate starvation" is asked for.
type starvation struct {
	world
	trials int
	hours  float64
	known  bool
}

// starved is what "numalet simulate starvation -o json" prints for a trial. Seconds
// are from when the large pod came.
type starved struct {
	Order             string  `json:"order"`
	Seed              uint64  `json:"seed"`
	Cards             int     `json:"cards"` // that the large pod asks for
	Began             bool    `json:"began"`
	WaitedSeconds     float64 `json:"waitedSeconds"`
	HeldSeconds       float64 `json:"heldSeconds"`   // until its node was held back
	EnoughSeconds     float64 `json:"enoughSeconds"` // until enough that ran there had ended
	SmallPercent      float64 `json:"smallPercent"`  // of what small work has without the large pod, until that began
	SmallAfterPercent float64 `json:"smallAfterPercent"`
}

// newStarvation returns "numalet simulate starvation": whether large work starves.
func newStarvation() *cobra.Command {
	s := starvation{world: world{out: formatText}}
	cmd := &cobra.Command{
		Use:   "starvation",
		Short: "Try out whether a large pod starves among small ones",
		Long: `Try out whether a large pod starves among small ones, on a virtual clock: twenty users
send pods of one card at most without end, and then the largest pod of the trace comes.
Said is how long it waited, how long it had to, for the work that ran on its node when
that was held back for it, and what that cost the small work.`,
		Example: `  numalet simulate starvation --nodes openb_node_list_all_node.csv --pods openb_pod_list_default.csv --every 24`,
		Args:    noArgs,
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
	var all []starved
	for _, turns := range []virtual.Turns{virtual.ByScore, virtual.LikeKube} {
		for i := range s.trials {
			one, err := s.try(turns, s.seed+uint64(i))
			if err != nil {
				return err
			}
			all = append(all, one)
		}
	}
	if s.out == formatJSON {
		return writeJSON(out, all)
	}
	return showStarved(out, all)
}

func (s starvation) try(turns virtual.Turns, seed uint64) (starved, error) {
	nodes, samples, err := s.read()
	if err != nil {
		return starved{}, err
	}
	profile, err := gpuProfile(s.policy, podsOf(samples))
	if err != nil {
		return starved{}, usageError{err}
	}
	o, err := fair.Starve(nodes, samples, fair.Settings{
		Users: fair.Users(20, 4, 64), Seed: seed, For: time.Duration(s.hours * float64(time.Hour)),
		Settle: usage.DefaultSettle, Profile: profile, Turns: turns, EndsKnown: s.known,
	})
	return starved{
		turns.String(), seed, o.Large.GPUs.Count, o.Began, o.Waited.Seconds(), o.Held.Seconds(), o.Enough.Seconds(), 100 * o.Small, 100 * o.SmallAfter,
	}, err
}

func showStarved(out io.Writer, all []starved) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "order\tseed\tcards\theld back after\tenough ended after\tbegun after\tratio\tsmall work until then\tuntil it ended\t")
	for _, s := range all {
		if !s.Began {
			fmt.Fprintf(table, "%s\t%d\t%d\t\t\tnot in %s\t\t\t\t\n", s.Order, s.Seed, s.Cards, brief(s.WaitedSeconds))
			continue
		}
		held, enough, ratio := brief(s.HeldSeconds), brief(s.EnoughSeconds), fmt.Sprintf("%.2f", s.WaitedSeconds/s.EnoughSeconds)
		if s.EnoughSeconds == 0 {
			held, enough, ratio = "", "", ""
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%.1f %%\t%.1f %%\t\n",
			s.Order, s.Seed, s.Cards, held, enough, brief(s.WaitedSeconds), ratio, s.SmallPercent, s.SmallAfterPercent)
	}
	return table.Flush()
}
