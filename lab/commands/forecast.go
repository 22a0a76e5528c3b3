package commands

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/numalet/numalet/internal/cli/command"
	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/lab/forecast"
	"github.com/numalet/numalet/lab/openb"
	"github.com/numalet/numalet/lab/virtual"
	"github.com/numalet/numalet/pkg/sched"
)

// forecastRun holds the flags of "numalet simulate forecast".
type forecastRun struct {
	trial
	load float64
	age  bool
}

// newForecast returns the command "numalet simulate forecast".
func newForecast() *cobra.Command {
	f := forecastRun{trial: trial{out: command.Text}}
	cmd := &cobra.Command{
		Use:   "forecast",
		Short: "Simulate how well the start of pods is predicted",
		Long: `Simulate how well the start of pods is predicted, on a virtual clock. Pods arrive as in
a trace, or, without --nodes and --pods, as in a synthetic week of twelve users on four
nodes of 8 GPUs. A forecast is made for each pod when it is created, from the run times
of the pods that ended before. The output shows the median and the 90th percentile of
the absolute error of the forecasts, beside those of two simple predictions: that the
pod starts at once, and that it waits as long as the pods before it did on average.`,
		Example: `  numalet simulate forecast
  numalet simulate forecast --nodes openb_node_list_all_node.csv --pods openb_pod_list_default.csv --every 384`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.OutOrStdout()) },
	}
	f.bind(cmd)
	flags := cmd.Flags()
	flags.Float64Var(&f.load, "load", 0.9, "GPU time that the pods of the synthetic week use, as a fraction of the GPU time of all nodes.")
	flags.BoolVar(&f.age, "by-age", false, "Order the pods by creation time instead of by score.")
	return cmd
}

// maxLoad is the upper limit of --load. weekNodes is the number of nodes of the simulated cluster
// if the pods are not from a trace. The pods of one week are then generated (forecast.Week).
const (
	maxLoad   = 2
	weekNodes = 4
)

func (f forecastRun) run(out io.Writer) error {
	nodes, arrivals, err := f.work()
	if err != nil {
		return err
	}
	profile, err := f.profile()
	if err != nil {
		return err
	}
	turns := virtual.ByScore
	if f.age {
		turns = virtual.ByAge
	}
	o, err := forecast.Run(nodes, arrivals, forecast.Settings{Seed: f.seed, Profile: profile, Turns: turns})
	if err != nil {
		return err
	}
	if f.out == command.JSON {
		return command.WriteJSON(out, predictedOf(o))
	}
	return showPredicted(out, predictedOf(o))
}

// work returns the nodes and the pods that arrive. Both are from a trace if --nodes or --pods is
// set, and otherwise from the synthetic week.
func (f forecastRun) work() ([]*sched.Node, []forecast.Arrival, error) {
	if f.nodes != "" || f.pods != "" {
		return f.traced()
	}
	if !(f.load > 0 && f.load <= maxLoad) || f.every < 1 {
		return nil, nil, command.WrongUsage("--load is more than 0 and at most %d, and --every more than 0", maxLoad)
	}
	nodes := everyNth(forecast.Nodes(weekNodes), f.every)
	return nodes, forecast.Week(len(nodes), f.load, f.seed), nil
}

// traced returns the nodes and the arriving pods of a trace. It leaves out pods that fit no node,
// and pods that request more GPUs than --gpus.
func (f forecastRun) traced() ([]*sched.Node, []forecast.Arrival, error) {
	nodes, err := f.readNodes()
	if err != nil {
		return nil, nil, err
	}
	all, err := command.ReadFile(f.pods, openb.ReadArrivals)
	if err != nil {
		return nil, nil, err
	}
	var arrivals []forecast.Arrival
	for _, a := range all {
		if latest := maxDays * 24 * time.Hour; a.At > latest {
			return nil, nil, fmt.Errorf("%s: pod %s arrives after %s: want %s at most", f.pods, a.Name, a.At, latest)
		}
		if a.GPUs.Count <= f.gpus && len(fairness.Fitting(nodes, []fairness.Sample{a.Sample})) > 0 {
			arrivals = append(arrivals, forecast.Arrival{Work: virtual.Work{Pod: a.Pod, Takes: min(a.Took, f.longest)}, At: a.At})
		}
	}
	return nodes, arrivals, nil
}
