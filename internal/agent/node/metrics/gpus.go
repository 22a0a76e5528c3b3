package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/numalet/numalet/pkg/gpu"
)

// GPUs exports the health of the node's GPUs at each scrape. The reason why a GPU is unhealthy is
// in the status of the NodeTopology. As a label value, it would start a new series at each change.
type GPUs struct{ Inventory func() *gpu.Inventory }

// Describe sends no descriptor. Prometheus then accepts any metrics from Collect, whose label
// values change.
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
