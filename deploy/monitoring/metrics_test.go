package monitoring

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// ruleFile is the part of rules.yaml that the tests read.
type ruleFile struct {
	Groups []struct {
		Rules []struct{ Record, Alert, Expr string }
	}
}

func rules(t *testing.T) (f ruleFile) {
	t.Helper()
	text, err := os.ReadFile("rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// row matches the line of a metric in docs/reference/metrics-*.md. Its groups are the name,
// the type and the labels.
var row = regexp.MustCompile("(?m)^\\| `(numalet_\\w+)` \\| (\\w+) \\| ([^|]*) \\|")

// documented returns the labels of each Prometheus series that
// docs/reference/metrics-*.md lists. These pages are generated from the programs, so
// they are complete.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/reference/metrics-*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no reference of metrics: %v", err)
	}
	series := map[string][]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range row.FindAllStringSubmatch(string(text), -1) {
			labels := strings.FieldsFunc(m[3], func(r rune) bool { return strings.ContainsRune("`, ", r) })
			labels = append(labels, "instance")
			if m[2] != "histogram" {
				series[m[1]] = labels
				continue
			}
			series[m[1]+"_bucket"], series[m[1]+"_count"], series[m[1]+"_sum"] = append(labels, "le"), labels, labels
		}
	}
	return series
}

var (
	selector = regexp.MustCompile(`(numalet[\w:]*)(\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`(\w+)\s*(?:=|!=|=~|!~)`)
	grouping = regexp.MustCompile(`(?:by|on)\s*\(([^)]*)\)`)
)

// unknown returns those series and labels in a PromQL expression that no program exports
// and no rule records.
func unknown(expr string, series map[string][]string, recorded []string) (names []string) {
	labels := map[string]bool{}
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		known, found := series[m[1]]
		if !found && !slices.Contains(recorded, m[1]) {
			names = append(names, m[1])
		}
		for _, l := range known {
			labels[l] = true
		}
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(known, l[1]) {
				names = append(names, m[1]+"{"+l[1]+"}")
			}
		}
	}
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for _, l := range strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(", ", r) }) {
			if !labels[l] && !strings.Contains(expr, "numalet:") {
				names = append(names, l)
			}
		}
	}
	return names
}

// TestSeriesExist checks that rules and dashboards use only series and labels that the
// programs export or rules record.
func TestSeriesExist(t *testing.T) {
	series, f := documented(t), rules(t)
	var recorded []string
	exprs := map[string]string{}
	for _, group := range f.Groups {
		for _, rule := range group.Rules {
			if rule.Record != "" {
				recorded = append(recorded, rule.Record)
			}
			exprs["rule "+rule.Record+rule.Alert] = rule.Expr
		}
	}
	for name, d := range dashboards() {
		for _, p := range d.panels {
			for i, q := range p.queries {
				exprs[name+": "+p.title+" "+string(rune('A'+i))] = q[0]
			}
		}
		if d.each != "" {
			exprs[name+": variable"] = d.metric + "{" + d.each + `=""}`
		}
	}
	for _, where := range slices.Sorted(maps.Keys(exprs)) {
		if names := unknown(exprs[where], series, recorded); len(names) > 0 {
			t.Errorf("%s: no program has %s", where, strings.Join(names, ", "))
		}
	}
}

func TestUnknown(t *testing.T) {
	series := map[string][]string{"numalet_a": {"x", "instance"}}
	for expr, want := range map[string]string{
		`sum by (x) (rate(numalet_a{instance="n"}[5m]))`: "",
		`numalet:recorded:sum`:                           "",
		`numalet_b`:                                      "numalet_b",
		`numalet_a{y="1"}`:                               "numalet_a{y}",
		`sum by (y) (numalet_a)`:                         "y",
		`numalet_a / on (x, z) numalet_a`:                "z",
	} {
		if got := strings.Join(unknown(expr, series, []string{"numalet:recorded:sum"}), " "); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}
