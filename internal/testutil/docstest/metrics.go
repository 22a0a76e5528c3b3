package docstest

import (
	"fmt"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// Metrics returns the reference page of a program's metrics, made from what its
// collectors gave. Those of the Go runtime and of the process are left out.
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

// labels returns the names of a family's labels, as code.
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
