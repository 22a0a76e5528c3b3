// Package monitoring has alert and recording rules for Prometheus and dashboards for Grafana.
// The tables of panels in dashboards_test.go define the dashboards. From these tables, go
// test -rewrite writes the files that Grafana imports.
package monitoring

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/numalet/numalet/internal/testutil/scenario"
)

// panel is one chart of a dashboard: its title, its unit in Grafana's notation, and queries
// with their legends.
type panel struct {
	title, unit string
	queries     [][2]string // expression, legend
}

// dashboard is a page of panels, two in a row. If the field "each" is set, it names a label
// of the metric in the field "metric". The dashboard then has a variable with the label's
// name, and the user of the dashboard chooses one of the label's values.
type dashboard struct {
	title        string
	metric, each string
	panels       []panel
}

func dashboards() map[string]dashboard {
	return map[string]dashboard{"cluster": cluster(), "node": node(), "tenants": tenants()}
}

func cluster() dashboard {
	return dashboard{title: "Numalet / Cluster", panels: []panel{
		{"Pending pods by queue", "short", [][2]string{{"numalet:scheduler_pending_pods:sum", "{{queue}}"}}},
		{"Pods bound, per second", "ops", [][2]string{{`sum by (result) (rate(numalet_scheduler_bind_duration_seconds_count[5m]))`, "{{result}}"}}},
		{"Time from creation to Binding, p99", "s", [][2]string{{"numalet:scheduler_e2e_duration_seconds:p99_rate5m", "p99"}}},
		{"Scheduling attempts without a node, per second", "ops", [][2]string{
			{"sum(rate(numalet_scheduler_unschedulable_total[5m]))", "no node fits"},
			{"sum(rate(numalet_scheduler_requeues_total[5m]))", "the nodes were taken meanwhile"},
		}},
		{"Exclusive CPUs", "short", [][2]string{{"sum(numalet_exclusive_cpus)", "exclusive"}, {"sum(numalet_available_cpus)", "free"}}},
		{"Unhealthy GPUs", "short", [][2]string{{"count by (type) (numalet_gpu_healthy == 0)", "{{type}}"}}},
		{"Nodes in the scheduler's cache", "short", [][2]string{{"max(numalet_scheduler_nodes)", "nodes"}}},
		{"Controllers with the lease", "short", [][2]string{{"sum(numalet_scheduler_leader)", "leaders"}}},
	}}
}

func node() dashboard {
	const node = `{instance="$instance"}`
	return dashboard{title: "Numalet / Node", metric: "numalet_exclusive_cpus", each: "instance", panels: []panel{
		{"Free CPUs by NUMA node", "short", [][2]string{{"numalet_available_cpus" + node, "NUMA {{numa}}"}}},
		{"Exclusive and shared CPUs", "short", [][2]string{{"numalet_exclusive_cpus" + node, "exclusive"}, {"numalet_shared_cpus" + node, "shared"}}},
		{"Foreign time of exclusive CPUs", "percentunit", [][2]string{{
			`sum by (namespace, pod, container, source) (rate(numalet_container_foreign_cpu_seconds_total` + node + `[5m])) / on (namespace, pod, container) group_left sum by (namespace, pod, container) (rate(numalet_container_exclusive_cpu_seconds_total` + node + `[5m]))`,
			"{{namespace}}/{{pod}} {{container}}: {{source}}",
		}}},
		{"Duration of the agent's hooks, p99", "s", [][2]string{{"histogram_quantile(0.99, sum by (hook, le) (rate(numalet_hook_duration_seconds_bucket" + node + "[5m])))", "{{hook}}"}}},
		{"Duration of checkpoints and cgroup writes, p99", "s", [][2]string{
			{"histogram_quantile(0.99, sum by (le) (rate(numalet_checkpoint_save_duration_seconds_bucket" + node + "[5m])))", "checkpoint"},
			{"histogram_quantile(0.99, sum by (cause, le) (rate(numalet_cgroup_write_duration_seconds_bucket" + node + "[5m])))", "cgroups: {{cause}}"},
		}},
		{"Refused requests", "short", [][2]string{{"sum by (reason) (increase(numalet_refusals_total" + node + "[1h]))", "{{reason}}"}}},
	}}
}

func tenants() dashboard {
	const kind = `{type="$type"}`
	return dashboard{title: "Numalet / Tenants", metric: "numalet_tenant_score", each: "type", panels: []panel{
		{"Usage", "short", [][2]string{{"numalet_tenant_usage" + kind, "{{tenant}}"}}},
		{"Score (decayed average of the usage)", "short", [][2]string{{"numalet_tenant_score" + kind, "{{tenant}}"}}},
		{"Share of all usage", "percentunit", [][2]string{{"numalet_tenant_usage" + kind + " / scalar(sum(numalet_tenant_usage" + kind + "))", "{{tenant}}"}}},
		{"Share of all scores", "percentunit", [][2]string{{"numalet_tenant_score" + kind + " / scalar(sum(numalet_tenant_score" + kind + "))", "{{tenant}}"}}},
	}}
}

type object = map[string]any

// model returns the dashboard in the format that Grafana imports. This is the dashboard JSON model
// of Grafana 11, with schema version 39.
func (d dashboard) model(uid string) object {
	source := object{"type": "prometheus", "uid": "${datasource}"}
	variables := []object{{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}}
	if d.each != "" {
		variables = append(variables, object{
			"name": d.each, "type": "query", "datasource": source, "refresh": 2, "sort": 1,
			"query": object{"query": "label_values(" + d.metric + ", " + d.each + ")", "refId": "variable"},
		})
	}
	const width, height = 12, 8
	var panels []object
	for i, p := range d.panels {
		panels = append(panels, object{
			"id": i + 1, "type": "timeseries", "title": p.title, "datasource": source,
			"gridPos":     object{"x": i % 2 * width, "y": i / 2 * height, "w": width, "h": height},
			"fieldConfig": object{"defaults": object{"unit": p.unit, "min": 0}, "overrides": []object{}},
			"targets":     p.targets(source),
		})
	}
	return object{
		"uid": "numalet-" + uid, "title": d.title, "tags": []string{"numalet"}, "schemaVersion": 39, "editable": true,
		"time": object{"from": "now-6h", "to": "now"}, "refresh": "1m", "templating": object{"list": variables}, "panels": panels,
	}
}

func (p panel) targets(source object) (targets []object) {
	for i, q := range p.queries {
		targets = append(targets, object{"refId": string(rune('A' + i)), "datasource": source, "expr": q[0], "legendFormat": q[1]})
	}
	return targets
}

// TestDashboards checks the files that Grafana imports (dashboards/*.json): they must have the
// panels that the functions `cluster`, `node` and `tenants` define.
func TestDashboards(t *testing.T) {
	for name, d := range dashboards() {
		model, err := json.MarshalIndent(d.model(name), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		scenario.Golden(t, filepath.Join("dashboards", name+".json"), string(model)+"\n")
	}
}
