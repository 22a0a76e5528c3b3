package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/numalet/numalet/pkg/workload"
)

// ForeignTime is the CPU time that interrupts, kernel threads and other processes used on the
// exclusive CPUs of one container.
type ForeignTime struct {
	Pod       workload.Pod
	Container string
	BySource  map[string]time.Duration
	Measured  time.Duration // the time of these CPUs for which foreign time was measured, idle or busy
}

// Foreign exports the foreign time of each container at each scrape. The series of a container end
// when the container gives its CPUs back.
type Foreign struct{ Times func() []ForeignTime }

// Describe sends no descriptor. Prometheus then accepts any metrics from Collect, whose label
// values change.
func (Foreign) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (f Foreign) Collect(ch chan<- prometheus.Metric) {
	used := describe("numalet_container_foreign_cpu_seconds_total", "Time that others used of the exclusive CPUs of a container, by source: interrupts, kernel (threads) or other (processes).",
		"namespace", "pod", "uid", "container", "source")
	measured := describe("numalet_container_exclusive_cpu_seconds_total", "Time of the exclusive CPUs of a container, idle or busy, for which foreign time was measured.",
		"namespace", "pod", "uid", "container")
	for _, t := range f.Times() {
		ch <- prometheus.MustNewConstMetric(measured, prometheus.CounterValue, t.Measured.Seconds(), t.Pod.Namespace, t.Pod.Name, t.Pod.UID, t.Container)
		for source, d := range t.BySource {
			ch <- prometheus.MustNewConstMetric(used, prometheus.CounterValue, d.Seconds(), t.Pod.Namespace, t.Pod.Name, t.Pod.UID, t.Container, source)
		}
	}
}
