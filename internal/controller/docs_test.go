package controller

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/numalet/numalet/internal/platform/telemetry"
	"github.com/numalet/numalet/internal/testutil/docstest"
	"github.com/numalet/numalet/internal/testutil/scenario"
	"github.com/numalet/numalet/pkg/sched/fairshare"
)

// account is a Prometheus collector with the metrics of one tenant's use of one type of resource
// (fairshare.Account). A controller without tenants does not serve these metrics, but the reference
// of the metrics must list them.
type account struct{}

func (account) Describe(chan<- *prometheus.Desc) {}

func (account) Collect(to chan<- prometheus.Metric) {
	collectAccount(to, "ann", fairshare.Account{Type: "cpu"})
}

// TestReference checks that the documentation page with the controller's metrics lists the metrics
// that the controller serves.
func TestReference(t *testing.T) {
	w := newWorld(t)
	w.start()
	r := telemetry.NewRegistry(component, "v0")
	measured := newMetrics()
	measured.register(r)
	measured.binds.WithLabelValues("bound").Observe(.001)
	r.MustRegister(collector{w.controller}, account{})
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	docstest.LintMetrics(t, families)
	const preface = "The controller serves `/metrics` at `--metrics-addr`, by default on port 8443, over HTTPS and to authorized users only. Beside the\n" +
		"metrics in the table below, it serves those of the library controller-runtime, such as `controller_runtime_reconcile_total` and `workqueue_depth`,\n" +
		"for the parts of the program that reconcile Jobs, Tenants and GPUGroups."
	scenario.Golden(t, "../../docs/reference/metrics-controller.md", docstest.Metrics("numalet-controller", preface, families))
}
