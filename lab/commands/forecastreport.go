package commands

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/numalet/numalet/lab/fairness"
	"github.com/numalet/numalet/lab/forecast"
)

// predicted is the output of "numalet simulate forecast -o json".
type predicted struct {
	Pods     int              `json:"pods"`
	Unknown  int              `json:"unknown"`  // number of pods without a forecast
	Unserved int              `json:"unserved"` // number of pods that had a forecast, but never started
	All      predictionErrors `json:"all"`
	Waited   predictionErrors `json:"waited"` // only for the pods that waited longer than a second
}

// predictionErrors summarizes how wrong the predicted waiting times of a set of pods were. Waits
// has the median and the 90th percentile of the actual waiting times. Forecast, None and Mean
// have the same quantiles of the absolute errors of three predictions of the waiting time: the
// forecast's median, 0 (the pod starts at once), and the mean waiting time (see forecast.Errors).
// ByP50Percent is the percentage of the pods that started no later than the median of their
// forecast. ByP90Percent is the percentage that started no later than the 90th percentile of their
// forecast; it counts only pods whose forecast has one.
type predictionErrors struct {
	Pods         int     `json:"pods"`
	Waits        twoOf   `json:"waits"`
	Forecast     twoOf   `json:"forecast"`
	None         twoOf   `json:"startsAtOnce"`
	Mean         twoOf   `json:"meanWait"`
	ByP50Percent float64 `json:"startedByP50Percent"`
	ByP90Percent float64 `json:"startedByP90Percent"`
}

// twoOf are two quantiles, in seconds.
type twoOf struct {
	P50 float64 `json:"p50Seconds"`
	P90 float64 `json:"p90Seconds"`
}

func predictedOf(o forecast.Outcome) predicted {
	return predicted{o.Pods, o.Unknown, o.Unserved, predictionErrorsOf(o.All), predictionErrorsOf(o.Waited)}
}

func predictionErrorsOf(e forecast.Errors) predictionErrors {
	two := func(w fairness.Waits) twoOf { return twoOf{w.Quantile(.5).Seconds(), w.Quantile(.9).Seconds()} }
	return predictionErrors{
		Pods: len(e.Waits), Waits: two(e.Waits), Forecast: two(e.Forecast), None: two(e.None), Mean: two(e.Mean),
		ByP50Percent: 100 * float64(e.ByP50) / float64(max(1, len(e.Waits))),
		ByP90Percent: 100 * float64(e.ByP90) / float64(max(1, e.WithP90)),
	}
}

// showPredicted prints two tables: one for all pods with a forecast, and one for the pods with a
// forecast that waited longer than a second.
func showPredicted(out io.Writer, p predicted) error {
	fmt.Fprintf(out, "%d pods: %d without a forecast, %d that never started\n", p.Pods, p.Unknown, p.Unserved)
	showErrors(out, "all pods with a forecast", p.All)
	return showErrors(out, "those that waited longer than a second", p.Waited)
}

func showErrors(out io.Writer, which string, e predictionErrors) error {
	fmt.Fprintf(out, "\n%s: %d; they waited %s (p50) and %s (p90)\n", which, e.Pods, inUnit(e.Waits.P50), inUnit(e.Waits.P90))
	fmt.Fprintf(out, "started by the forecast's p50: %.1f %%, by its p90: %.1f %%\n", e.ByP50Percent, e.ByP90Percent)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "prediction\tabsolute error p50\tp90\t")
	for _, row := range []struct {
		name string
		twoOf
	}{{"forecast", e.Forecast}, {"starts at once", e.None}, {"mean wait so far", e.Mean}} {
		fmt.Fprintf(table, "%s\t%s\t%s\t\n", row.name, inUnit(row.P50), inUnit(row.P90))
	}
	return table.Flush()
}
