package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// table returns the results as a Markdown table, as in docs/benchmarks/logs/performance.md.
func (rs results) table(o options) string {
	rows := rs.emptyRows()
	if o.busy() {
		rows = rs.busyRows(o)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	for _, row := range rows {
		fmt.Fprintf(w, "| %s\t|\n", strings.Join(row, "\t| "))
	}
	w.Flush()
	return b.String()
}

// emptyRows returns the rows for an empty cluster: one for each round, in which one contender (a
// scheduler or client) binds pods of one kind. Each row has two rates: bound pods per second, and
// written events per second (columns "told"). After each rate, the row has the quotient of this
// rate and kube-scheduler's. After the rate of events, the row also has the quotient of this rate
// and that of the contender with the name floor. This contender is a client that writes the same
// Bindings and events but decides nothing.
func (rs results) emptyRows() [][]string {
	rows := [][]string{
		{"pods", "who", "bound pods/s", "× kube-scheduler", "told pods/s", "× kube-scheduler", "× floor", "ms CPU a pod", "page faults a pod", "peak MiB", "one by one p50 / p99 ms"},
		{"---", "---", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---:"},
	}
	for _, result := range rs {
		kube, _ := rs.of(kubeName, result.load.name)
		floor, _ := rs.of(floorName, result.load.name)
		rows = append(rows, []string{
			result.load.name, result.contender, rateOf(result), times(result.rate, kube.rate), number(result.told), times(result.told, kube.told), times(result.told, floor.told),
			fmt.Sprintf("%.2f", ms(result.cpu)), fmt.Sprint(result.faults), fmt.Sprint(result.peak >> 20), oneByOne(result),
		})
	}
	return rows
}

// busyRows returns the rows for a busy cluster: one for each contender and each percentage of -fill.
// Each row has the results of the round without waiting pods and of the round with them.
func (rs results) busyRows(o options) [][]string {
	with := fmt.Sprintf("with %d waiting", o.Waiting)
	rows := [][]string{
		{"nodes", "who", "bound pods/s", "× kube-scheduler", with, "of the rate without", "× kube-scheduler", "one by one p50 / p99 ms", with},
		{"---", "---", "---:", "---:", "---:", "---:", "---:", "---:", "---:"},
	}
	for _, l := range loads(o) {
		for _, c := range contenders() {
			r, measured := rs.of(c.name, l.name)
			busy, also := rs.waiting(c.name, l.fill)
			if l.waiting > 0 || !measured && !also {
				continue
			}
			kube, _ := rs.of(kubeName, l.name)
			busyKube, _ := rs.waiting(kubeName, l.fill)
			rows = append(rows, []string{
				l.name, c.name, rateOf(r), times(r.rate, kube.rate), rateOf(busy), times(busy.rate, r.rate), times(busy.rate, busyKube.rate), oneByOne(r), oneByOne(busy),
			})
		}
	}
	return rows
}

// waiting returns a contender's result of the round with pods that fit no node, and false if this
// round was not measured.
func (rs results) waiting(contender string, fill int) (result, bool) {
	for _, r := range rs {
		if r.contender == contender && r.load.fill == fill && r.load.waiting > 0 {
			return r, true
		}
	}
	return result{}, false
}

// rateOf returns the rate of bound pods as text. If the contender was stopped, the text also says
// how many pods it had bound.
func rateOf(r result) string {
	if r.stopped {
		return fmt.Sprintf("%s (stopped after %d)", number(r.rate), r.bound)
	}
	return number(r.rate)
}

func oneByOne(r result) string {
	if len(r.steady) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f / %.1f", ms(quantile(r.steady, .5)), ms(quantile(r.steady, .99)))
}

// number returns a rate as text, or a dash if the rate was not measured. A rate below 10 has two
// significant digits.
func number(rate float64) string {
	switch {
	case rate == 0:
		return "–"
	case rate < 10:
		return fmt.Sprintf("%.2g", rate)
	}
	return fmt.Sprintf("%.0f", rate)
}

// times returns the quotient of two values as text, or a dash if one of them was not measured.
func times(value, to float64) string {
	if value == 0 || to == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", value/to)
}
