package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/numalet/numalet/pkg/workload"
)

// ForeignTime is the foreign time of one container: the CPU time that interrupts, kernel threads
// and other processes used on the container's exclusive CPUs.
type ForeignTime struct {
	Pod       workload.Pod
	Container string
	BySource  map[string]time.Duration
	Measured  time.Duration // the time for which foreign time was measured, summed over the exclusive CPUs, whether idle or busy
}

// Foreign exports the foreign time of each container with exclusive CPUs at each scrape. When a
// container no longer holds exclusive CPUs, Foreign stops exporting time series for the container.
type Foreign struct{ Times func() []ForeignTime }

// Describe sends no descriptors. The Prometheus client library then checks the metrics of Collect
// at each scrape instead of at the registration.
func (Foreign) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (f Foreign) Collect(ch chan<- prometheus.Metric) {
	used := describe("numalet_container_foreign_cpu_seconds_total", "CPU time that others used on the exclusive CPUs of a container, by source: interrupts, kernel (kernel threads) or other (other processes).",
		"namespace", "pod", "uid", "container", "source")
	measured := describe("numalet_container_exclusive_cpu_seconds_total", "Time for which numalet_container_foreign_cpu_seconds_total was measured, added up over the exclusive CPUs of a container, whether idle or busy.",
		"namespace", "pod", "uid", "container")
	for _, t := range f.Times() {
		ch <- prometheus.MustNewConstMetric(measured, prometheus.CounterValue, t.Measured.Seconds(), t.Pod.Namespace, t.Pod.Name, t.Pod.UID, t.Container)
		for source, d := range t.BySource {
			ch <- prometheus.MustNewConstMetric(used, prometheus.CounterValue, d.Seconds(), t.Pod.Namespace, t.Pod.Name, t.Pod.UID, t.Container, source)
		}
	}
}
