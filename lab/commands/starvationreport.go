package commands

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/lab/virtual"
)

// starved is what "numalet simulate starvation -o json" prints for a trial. Seconds
// are from when the large pod came.
type starved struct {
	Order             string  `json:"order"`
	Seed              uint64  `json:"seed"`
	Cards             int     `json:"cards"` // that the large pod asks for
	Began             bool    `json:"began"`
	WaitedSeconds     float64 `json:"waitedSeconds"`
	HeldSeconds       float64 `json:"heldSeconds"`     // until its node was held back
	EnoughSeconds     float64 `json:"enoughSeconds"`   // until enough that ran there had ended
	Ratio             float64 `json:"ratio,omitempty"` // of the wait to that; none where nothing was held back
	SmallPercent      float64 `json:"smallPercent"`    // of what small work has without the large pod, until that began
	SmallAfterPercent float64 `json:"smallAfterPercent"`
}

func starvedOf(turns virtual.Turns, seed uint64, o fairness.Starved) starved {
	s := starved{
		Order: turns.String(), Seed: seed, Cards: o.Large.GPUs.Count, Began: o.Began,
		WaitedSeconds: o.Waited.Seconds(), HeldSeconds: o.Held.Seconds(), EnoughSeconds: o.Enough.Seconds(),
		SmallPercent: 100 * o.Small, SmallAfterPercent: 100 * o.SmallAfter,
	}
	if o.Enough > 0 {
		s.Ratio = o.Ratio()
	}
	return s
}

// showStarved prints a line for each trial, and for each order the mean and the worst
// of several, if the large pod had a node held back and began in all of them.
func showStarved(out io.Writer, all []starved) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "order\tseed\tcards\theld back after\tenough ended after\tbegun after\tratio\tsmall work until then\tuntil it ended\t")
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(s starved) bool { return s.Order != all[0].Order })
		if n < 0 {
			n = len(all)
		}
		for _, s := range all[:n] {
			showTrial(table, s)
		}
		showSums(table, all[:n])
		all = all[n:]
	}
	return table.Flush()
}

func showTrial(table io.Writer, s starved) {
	if !s.Began {
		fmt.Fprintf(table, "%s\t%d\t%d\t\t\tnot in %s\t\t\t\t\n", s.Order, s.Seed, s.Cards, brief(s.WaitedSeconds))
		return
	}
	held, enough, ratio := "", "", ""
	if s.EnoughSeconds > 0 {
		held, enough, ratio = brief(s.HeldSeconds), brief(s.EnoughSeconds), fmt.Sprintf("%.2f", s.Ratio)
	}
	fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%.1f %%\t%.1f %%\t\n",
		s.Order, s.Seed, s.Cards, held, enough, brief(s.WaitedSeconds), ratio, s.SmallPercent, s.SmallAfterPercent)
}

// showSums sums up the trials of one order.
func showSums(table io.Writer, trials []starved) {
	if len(trials) < 2 || slices.ContainsFunc(trials, func(s starved) bool { return !s.Began || s.Ratio == 0 }) {
		return
	}
	mean, worst := starved{}, trials[0]
	for _, s := range trials {
		part := 1 / float64(len(trials))
		mean.WaitedSeconds += s.WaitedSeconds * part
		mean.Ratio += s.Ratio * part
		mean.SmallPercent += s.SmallPercent * part
		mean.SmallAfterPercent += s.SmallAfterPercent * part
		worst.WaitedSeconds = max(worst.WaitedSeconds, s.WaitedSeconds)
		worst.Ratio = max(worst.Ratio, s.Ratio)
		worst.SmallPercent = min(worst.SmallPercent, s.SmallPercent)
		worst.SmallAfterPercent = min(worst.SmallAfterPercent, s.SmallAfterPercent)
	}
	showSum(table, trials[0].Order+", mean", mean)
	showSum(table, trials[0].Order+", worst", worst)
}

func showSum(table io.Writer, name string, s starved) {
	fmt.Fprintf(table, "%s\t\t\t\t\t%s\t%.2f\t%.1f %%\t%.1f %%\t\n", name, brief(s.WaitedSeconds), s.Ratio, s.SmallPercent, s.SmallAfterPercent)
}
