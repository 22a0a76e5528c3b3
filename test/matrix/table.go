package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// The table is between these lines of docs/reference/tested.md.
const begin, end = "<!-- make matrix -->\n", "<!-- end of make matrix -->\n"

// noResult is the text of a cell without a result in results.json. The text does not say that the
// tests were not run, because somebody may have run them with another command, such as make
// e2e-controller.
const noResult = "no result"

// render returns the table of the results.
func render(results []result) string {
	var b strings.Builder
	b.WriteString("| Kubernetes | containerd |")
	for _, c := range columns() {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	fmt.Fprintf(&b, "\n|%s\n", strings.Repeat("---|", 2+len(columns())))
	for _, r := range rows() {
		fmt.Fprintf(&b, "| %s | %s |", r.Kubernetes, r.Containerd)
		for _, c := range columns() {
			fmt.Fprintf(&b, " %s |", cell(results, r, c))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// cell returns the text of one cell. The outcome of a column that needs no virtual machine does not
// depend on containerd. So all rows with the same Kubernetes version show the newest outcome that
// any of these rows has in the column.
func cell(results []result, r row, c column) string {
	for _, got := range slices.Backward(results) { // the function `keep` adds the newest result at the end
		if got.Column == c.name && (got.row == r || !c.machine && got.Kubernetes == r.Kubernetes) {
			return fmt.Sprintf("%s (%s, %s)", outcome(got.Passed), got.Commit, got.Date)
		}
	}
	return noResult
}

func outcome(passed bool) string {
	if passed {
		return "passed"
	}
	return "failed"
}

// replaceTable writes the table into a page, in place of the older table.
func replaceTable(page, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("write the table in %s: the lines %q and %q are not there", page, begin, end)
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+table+"\n"+end+after), 0o644)
}
