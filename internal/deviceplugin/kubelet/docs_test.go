package kubelet

import (
	"testing"

	"github.com/numalet/numalet/internal/platform/telemetry"
	"github.com/numalet/numalet/internal/testutil/docstest"
	"github.com/numalet/numalet/internal/testutil/scenario"
)

// TestReference checks that docs/reference/metrics-deviceplugin.md lists the metrics of
// the device plugin as they are.
func TestReference(t *testing.T) {
	r := telemetry.NewRegistry("numalet-deviceplugin", "v0")
	m := newMetrics(r)
	m.devices.WithLabelValues("numalet.dev/numa0-cpu", "healthy").Set(1)
	m.registrations.WithLabelValues("numalet.dev/numa0-cpu").Inc()
	m.drops.WithLabelValues("numalet.dev/numa0-cpu").Inc()
	m.conflict.WithLabelValues("numalet.dev/numa0-cpu").Set(1)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	docstest.LintMetrics(t, families)
	const preface = "The device plugin serves `/metrics` at `--health-addr`, by default on the node's loopback, port 8124."
	scenario.Golden(t, "../../../docs/reference/metrics-deviceplugin.md", docstest.Metrics("numalet-deviceplugin", preface, families))
}
