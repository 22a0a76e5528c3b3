package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeep checks that the newest result of a cell replaces the older result of this cell, and that
// the results of other cells stay.
func TestKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	a, b := row{"1.36", "2.4"}, row{"1.36", "2.0"}
	for _, r := range []result{{row: a, Column: "chart"}, {row: b, Column: "chart"}, {row: a, Column: "GPUs"}, {row: a, Column: "chart", Passed: true, Commit: "c", Date: "d"}} {
		if err := keep(file, r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := load(file)
	want := []result{{row: b, Column: "chart"}, {row: a, Column: "GPUs"}, {row: a, Column: "chart", Passed: true, Commit: "c", Date: "d"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestFirstOfKubernetes checks that tests without a machine run once with each Kubernetes version.
func TestFirstOfKubernetes(t *testing.T) {
	var got []row
	for _, r := range rows() {
		if r.firstOfKubernetes() {
			got = append(got, r)
		}
	}
	want := []row{{"1.34", "2.4"}, {"1.35", "2.4"}, {"1.36", "2.4"}, {"1.37", "2.4"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows that run the column controller (-want +got):\n%s", diff)
	}
}

// TestRender checks that each cell with a result shows the result, and that all other cells show
// "no result". It also checks that rows with the same Kubernetes version share the outcomes of tests
// that need no virtual machine.
func TestRender(t *testing.T) {
	table := render([]result{
		{row: row{"1.34", "2.4"}, Column: "controller", Passed: true, Commit: "abc", Date: "2026-11-23"},
		{row: row{"1.36", "2.0"}, Column: "GPUs", Commit: "def", Date: "2026-11-24"},
		{row: row{"1.36", "2.4"}, Column: "chart", Passed: true, Commit: "ghi", Date: "2026-11-24"},
	})
	for _, want := range []string{
		"| 1.34 | 2.4 | passed (abc, 2026-11-23) | no result |",
		"| 1.36 | 2.0 | no result | passed (ghi, 2026-11-24) | no result | no result | no result | failed (def, 2026-11-24) |",
		"| 1.36 | 2.4 | no result | passed (ghi, 2026-11-24) | no result | no result | no result | no result |",
		"| 1.37 | 2.4 | no result |",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}

// TestPage checks that docs/reference/tested.md contains the table of the results in results.json.
func TestPage(t *testing.T) {
	results, err := load("results.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), begin+"\n"+render(results)+"\n"+end) {
		t.Errorf("%s is out of date: run go run ./test/matrix -table", page)
	}
}
