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

// shared is one result of "numalet simulate fairness -o json". There is one result for each order
// in which the scheduler takes waiting pods (the field Order). Each user is a tenant of package
// fairshare: a user's score measures the user's past and present use of resources, and a user with
// a larger weight may use more.
type shared struct {
	Order            string       `json:"order"`
	Jain             float64      `json:"jain"` // Jain's fairness index of the users' scores, each divided by the user's weight
	AllocatedPercent float64      `json:"allocatedPercent"`
	Started          int          `json:"started"`      // number of pods that started in the measured second half of the trial
	StartedLarge     int          `json:"startedLarge"` // how many of these pods have several GPUs
	MedianSeconds    float64      `json:"medianSeconds"`
	P99Seconds       float64      `json:"p99Seconds"`
	Waiting          int          `json:"waiting"` // number of GPU pods that are waiting at the end
	WaitingLarge     int          `json:"waitingLarge"`
	Users            []sharedUser `json:"users"`
}

// sharedUser is the result for one user, in shared.Users.
type sharedUser struct {
	Name          string  `json:"name"`
	Weight        float64 `json:"weight"`
	Demand        int     `json:"demand"` // the user submits GPU pods so that this number of them is always waiting
	GPUs          float64 `json:"gpus"`   // number of GPUs that the user held on average
	Pods          int     `json:"pods"`
	MedianSeconds float64 `json:"medianSeconds"`
	P99Seconds    float64 `json:"p99Seconds"`
}

func sharedOf(o fairness.Outcome) shared {
	s := shared{
		Order: o.Turns.String(), Jain: o.Jain, AllocatedPercent: 100 * o.Allocated, Started: o.Started.All, StartedLarge: o.Started.Large,
		MedianSeconds: o.All.Quantile(.5).Seconds(), P99Seconds: o.All.Quantile(.99).Seconds(),
		Waiting: o.Waiting.All, WaitingLarge: o.Waiting.Large,
	}
	for _, user := range o.Users {
		s.Users = append(s.Users, sharedUser{
			user.Name, float64(user.Weight), user.Demand, user.GPUs, len(user.Waits), user.Waits.Quantile(.5).Seconds(), user.Waits.Quantile(.99).Seconds(),
		})
	}
	return s
}

// showFairness prints a table with a line for each rule by which pods are ordered, and a second
// table with a line for each user. The format JSON has the same data.
func showFairness(out io.Writer, f fairnessRun, nodes []*sched.Node, outcomes []fairness.Outcome) error {
	var orders []shared
	for _, o := range outcomes {
		orders = append(orders, sharedOf(o))
	}
	if f.out == command.JSON {
		return command.WriteJSON(out, orders)
	}
	gpus := 0
	for _, node := range nodes {
		gpus += len(node.GPUs)
	}
	fmt.Fprintf(out, "%d users, %d nodes with %d GPUs, %v days, seed %d; measured in the second half\n\n", f.users, len(nodes), gpus, f.days, f.seed)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "order\tJain's index\tallocated\tpods started\tlarge\twait median\tp99\twaiting at the end\tlarge\t")
	for _, o := range orders {
		fmt.Fprintf(table, "%s\t%.4f\t%.1f %%\t%d\t%d\t%s\t%s\t%d\t%d\t\n", o.Order, o.Jain, o.AllocatedPercent,
			o.Started, o.StartedLarge, inUnit(o.MedianSeconds), inUnit(o.P99Seconds), o.Waiting, o.WaitingLarge)
	}
	fmt.Fprint(table, "\nuser\tweight\tdemand")
	for _, o := range orders {
		fmt.Fprintf(table, "\t%s: GPUs\tmedian\tp99", o.Order)
	}
	fmt.Fprintln(table, "\t")
	for i, u := range orders[0].Users {
		fmt.Fprintf(table, "%s\t%g\t%d", u.Name, u.Weight, u.Demand)
		for _, o := range orders {
			u := o.Users[i]
			fmt.Fprintf(table, "\t%.1f\t%s\t%s", u.GPUs, inUnit(u.MedianSeconds), inUnit(u.P99Seconds))
		}
		fmt.Fprintln(table, "\t")
	}
	return table.Flush()
}

// inUnit writes a time in days, hours, minutes or seconds. It uses the largest of these units that
// fits at least twice into the time, but seconds for a time of less than two minutes.
func inUnit(seconds float64) string {
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
