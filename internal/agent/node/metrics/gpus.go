package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/numalet/numalet/pkg/gpu"
)

// GPUs exports the health of the node's GPUs at each scrape. It does not export the reason why a
// GPU is unhealthy, which is in the status of the NodeTopology. If the reason were the value of a
// label, each change of the reason would start a new time series.
type GPUs struct{ Inventory func() *gpu.Inventory }

// Describe sends no descriptors. The Prometheus client library then checks the metrics of Collect
// at each scrape instead of at the registration.
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
