package commands

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/lab/virtual"
)

// starved is the result of one trial in "numalet simulate starvation -o json". In a trial, one pod
// with many GPUs, the large pod, arrives while users keep the nodes full of small pods. Times count
// from the arrival of the large pod. The trial is compared with a second one in which the large pod
// does not arrive.
type starved struct {
	Order             string  `json:"order"`
	Seed              uint64  `json:"seed"`
	GPUs              int     `json:"gpus"` // number of GPUs that the large pod requests
	Started           bool    `json:"started"`
	WaitedSeconds     float64 `json:"waitedSeconds"`
	ReservedSeconds   float64 `json:"reservedSeconds"`   // until a node was reserved for the large pod for the last time
	FreeSeconds       float64 `json:"freeSeconds"`       // until enough pods of this node had ended for the large pod to fit; only pods that ran when the node was reserved count
	Ratio             float64 `json:"ratio,omitempty"`   // waitedSeconds / freeSeconds, if a node was reserved
	SmallPercent      float64 `json:"smallPercent"`      // GPU time of the small pods until the large pod started, in percent of their GPU time in the same period of the second trial
	SmallAfterPercent float64 `json:"smallAfterPercent"` // like SmallPercent, but for the period until the large pod ended
}

func starvedOf(turns virtual.Turns, seed uint64, o fairness.Starved) starved {
	s := starved{
		Order: turns.String(), Seed: seed, GPUs: o.Large.GPUs.Count, Started: o.Started,
		WaitedSeconds: o.Waited.Seconds(), ReservedSeconds: o.Reserved.Seconds(), FreeSeconds: o.Free.Seconds(),
		SmallPercent: 100 * o.Small, SmallAfterPercent: 100 * o.SmallAfter,
	}
	if o.Free > 0 {
		s.Ratio = o.Ratio()
	}
	return s
}

// showStarved prints a line for each trial. For each order of the pending pods (the field Order)
// that has several trials, it also prints the mean and the worst case of these trials. It does so
// only if the large pod got a reservation and started in all of these trials.
func showStarved(out io.Writer, all []starved) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "order\tseed\tGPUs\tnode reserved after\tenough pods ended after\tstarted after\tratio\tsmall pods until then\tuntil it ended\t")
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
	if !s.Started {
		fmt.Fprintf(table, "%s\t%d\t%d\t\t\tnot in %s\t\t\t\t\n", s.Order, s.Seed, s.GPUs, inUnit(s.WaitedSeconds))
		return
	}
	reserved, free, ratio := "", "", ""
	if s.FreeSeconds > 0 {
		reserved, free, ratio = inUnit(s.ReservedSeconds), inUnit(s.FreeSeconds), fmt.Sprintf("%.2f", s.Ratio)
	}
	fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%.1f %%\t%.1f %%\t\n",
		s.Order, s.Seed, s.GPUs, reserved, free, inUnit(s.WaitedSeconds), ratio, s.SmallPercent, s.SmallAfterPercent)
}

// showSums prints the mean and the worst case of several trials that have the same order of the
// pending pods.
func showSums(table io.Writer, trials []starved) {
	if len(trials) < 2 || slices.ContainsFunc(trials, func(s starved) bool { return !s.Started || s.Ratio == 0 }) {
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
	fmt.Fprintf(table, "%s\t\t\t\t\t%s\t%.2f\t%.1f %%\t%.1f %%\t\n", name, inUnit(s.WaitedSeconds), s.Ratio, s.SmallPercent, s.SmallAfterPercent)
}
