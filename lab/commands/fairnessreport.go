package commands

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/numalet/numalet/internal/cli/command"

	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/pkg/sched"
)

// shared is what "numalet simulate fairness -o json" prints for an order.
type shared struct {
	Order            string       `json:"order"`
	Jain             float64      `json:"jain"` // of scores per weight
	AllocatedPercent float64      `json:"allocatedPercent"`
	Began            int          `json:"began"`      // pods
	BeganLarge       int          `json:"beganLarge"` // those that ask for several cards
	MedianSeconds    float64      `json:"medianSeconds"`
	P99Seconds       float64      `json:"p99Seconds"`
	Waiting          int          `json:"waiting"` // pods that ask for cards, at the end
	WaitingLarge     int          `json:"waitingLarge"`
	Users            []sharedUser `json:"users"`
}

// sharedUser is what a user got.
type sharedUser struct {
	Name          string  `json:"name"`
	Weight        float64 `json:"weight"`
	Appetite      int     `json:"appetite"`
	Cards         float64 `json:"cards"` // held on average
	Pods          int     `json:"pods"`
	MedianSeconds float64 `json:"medianSeconds"`
	P99Seconds    float64 `json:"p99Seconds"`
}

func sharedOf(o fairness.Outcome) shared {
	s := shared{
		Order: o.Turns.String(), Jain: o.Jain, AllocatedPercent: 100 * o.Allocated, Began: o.Began.All, BeganLarge: o.Began.Large,
		MedianSeconds: o.All.Quantile(.5).Seconds(), P99Seconds: o.All.Quantile(.99).Seconds(),
		Waiting: o.Waiting.All, WaitingLarge: o.Waiting.Large,
	}
	for _, u := range o.Users {
		s.Users = append(s.Users, sharedUser{
			u.Name, float64(u.Weight), u.Appetite, u.Cards, len(u.Waits), u.Waits.Quantile(.5).Seconds(), u.Waits.Quantile(.99).Seconds(),
		})
	}
	return s
}

// showFairness prints a line for each order, and one for each user.
func showFairness(out io.Writer, f fairnessRun, nodes []*sched.Node, outcomes []fairness.Outcome) error {
	var orders []shared
	for _, o := range outcomes {
		orders = append(orders, sharedOf(o))
	}
	if f.out == command.JSON {
		return command.WriteJSON(out, orders)
	}
	cards := 0
	for _, n := range nodes {
		cards += len(n.GPUs)
	}
	fmt.Fprintf(out, "%d users, %d nodes with %d cards, %v days, seed %d; figures of the second half\n\n", f.users, len(nodes), cards, f.days, f.seed)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "order\tJain's index\tallocated\tpods begun\tof them large\twait median\tp99\twaiting at the end\tof them large\t")
	for _, o := range orders {
		fmt.Fprintf(table, "%s\t%.4f\t%.1f %%\t%d\t%d\t%s\t%s\t%d\t%d\t\n", o.Order, o.Jain, o.AllocatedPercent,
			o.Began, o.BeganLarge, brief(o.MedianSeconds), brief(o.P99Seconds), o.Waiting, o.WaitingLarge)
	}
	fmt.Fprint(table, "\nuser\tweight\tappetite")
	for _, o := range orders {
		fmt.Fprintf(table, "\t%s: cards\tmedian\tp99", o.Order)
	}
	fmt.Fprintln(table, "\t")
	for i, u := range orders[0].Users {
		fmt.Fprintf(table, "%s\t%g\t%d", u.Name, u.Weight, u.Appetite)
		for _, o := range orders {
			u := o.Users[i]
			fmt.Fprintf(table, "\t%.1f\t%s\t%s", u.Cards, brief(u.MedianSeconds), brief(u.P99Seconds))
		}
		fmt.Fprintln(table, "\t")
	}
	return table.Flush()
}

// brief writes a time in the largest unit of which it is 2 at least.
func brief(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.1f d", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.1f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
