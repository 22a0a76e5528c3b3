package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/numalet/numalet/pkg/gpu"
)

// GPUs exports the health of the node's GPUs at each scrape. The reason is in the status of
// the NodeTopology: as a label value it would make a new series at each change.
type GPUs struct{ Inventory func() *gpu.Inventory }

// Describe sends nothing, which makes the collector unchecked: the label values of its
// metrics change.
func (GPUs) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g GPUs) Collect(ch chan<- prometheus.Metric) {
	healthy := describe("numalet_gpu_healthy", "1 for a healthy GPU or MIG slice, 0 for an unhealthy one and for one that is not monitored.", "gpu", "type")
	for _, u := range g.Inventory().Units() {
		value := 0.0
		if u.Health.State == gpu.Healthy {
			value = 1
		}
		ch <- prometheus.MustNewConstMetric(healthy, prometheus.GaugeValue, value, u.ID, u.Type)
	}
}
