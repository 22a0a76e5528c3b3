package docstest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// LintMetrics checks with promlint that the metrics of a program's collectors follow the naming
// conventions of Prometheus. It also checks that each help text ends with a period. No value of a
// label may be a list of CPUs, because each change of the list would start a new time series.
func LintMetrics(t *testing.T, families []*dto.MetricFamily) {
	t.Helper()
	own := slices.DeleteFunc(slices.Clone(families), func(f *dto.MetricFamily) bool { return !strings.HasPrefix(f.GetName(), "numalet_") })
	if len(own) < 2 {
		t.Errorf("%d metrics of Numalet, want several", len(own))
	}
	problems, err := promlint.NewWithMetricFamilies(own).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("metric %s: %s", p.Metric, p.Text)
	}
	for _, f := range own {
		if !strings.HasSuffix(f.GetHelp(), ".") {
			t.Errorf("metric %s: help %q is not a sentence", f.GetName(), f.GetHelp())
		}
		lintLabels(t, f)
	}
}

func lintLabels(t *testing.T, f *dto.MetricFamily) {
	t.Helper()
	list := regexp.MustCompile(`^\d+([-,]\d+)+$`)
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if list.MatchString(l.GetValue()) {
				t.Errorf("metric %s: label %s is a list of CPUs: %q", f.GetName(), l.GetName(), l.GetValue())
			}
		}
	}
}

// Metrics returns the reference page of a program's metrics. It generates the page from the metrics
// that the program's collectors return, without the metrics of the Go runtime and of the process.
func Metrics(program, preface string, families []*dto.MetricFamily) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Metrics of %s\n\n%s\n\nThis page is generated from the program's collectors; `make generate` writes it.\n\n", program, preface)
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "numalet_") {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), labels(f), f.GetHelp())
		}
	}
	return b.String()
}

// labels returns the names of the labels of a metric family, formatted as code in Markdown.
func labels(f *dto.MetricFamily) string {
	var names []string
	for _, m := range f.GetMetric() {
		for _, pair := range m.GetLabel() {
			if name := "`" + pair.GetName() + "`"; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
