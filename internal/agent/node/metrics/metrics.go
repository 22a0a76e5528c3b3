// Package metrics exports Prometheus metrics of the node's operations and of the exclusive CPUs of
// each container. The kubelet's PodResources API cannot show these CPUs, because it shows only CPUs
// of the kubelet's CPU manager, and Numalet requires the CPU manager policy none.
package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/agent/node"
)

// Metrics has the metrics of the node's operations, such as the duration of hooks. It implements
// node.Observer, the interface through which package node reports them.
type Metrics struct {
	hooks    *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	saves    prometheus.Histogram
	writes   *prometheus.HistogramVec
	cgroups  *prometheus.CounterVec
	panics   prometheus.Counter
}

// hookBuckets returns the histogram buckets for the duration of a hook of the container runtime.
// Users compute p50 and p99 from these buckets. From 1 ms to 2 s, each bound is at most 1.67 times
// the previous bound, so a computed quantile is wrong by at most this factor. The runtime's default
// timeout for a hook is 2 s. A slower hook has failed, unless the administrator has set a longer
// timeout.
func hookBuckets() []float64 {
	return []float64{
		.0005, .001, .0015, .002, .003, .005, .0075, .01, .015, .02, .03, .05, .075,
		.1, .15, .2, .3, .5, .75, 1, 1.5, 2, 5, 10,
	}
}

// fast returns the histogram buckets for the duration of a part of a hook, such as writing the
// checkpoint file. The buckets range from 0.1 ms to 2 s.
func fast() []float64 { return prometheus.ExponentialBucketsRange(1e-4, 2, 14) }

// New creates the metrics and registers them with r.
func New(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		hooks: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "numalet_hook_duration_seconds", Help: "Duration of the agent's NRI hooks, by hook and result (ok or error).", Buckets: hookBuckets(),
		}, []string{"hook", "result"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "numalet_refusals_total", Help: "Requests of pods that the agent refused, by reason.",
		}, []string{"reason"}),
		saves: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "numalet_checkpoint_save_duration_seconds", Help: "Duration of writing the checkpoint to disk.", Buckets: fast(),
		}),
		writes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "numalet_cgroup_write_duration_seconds", Help: "Duration of writing the CPUs of cgroups, by cause: shrink (CPUs leave the shared set), grow (CPUs return to the shared set) or assert (any other cause).", Buckets: fast(),
		}, []string{"cause"}),
		cgroups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "numalet_cgroups_written_total", Help: "Number of cgroups whose CPUs were written, by cause: shrink (CPUs leave the shared set), grow (CPUs return to the shared set) or assert (any other cause).",
		}, []string{"cause"}),
	}
	m.panics = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "numalet_panics_total", Help: "Panics in a hook of the container runtime or in the handling of a pod. The log has the stack.",
	})
	r.MustRegister(m.hooks, m.refusals, m.saves, m.writes, m.cgroups, m.panics)
	return m
}

// Hook records the duration and the result of one hook of the container runtime.
func (m *Metrics) Hook(name string, took time.Duration, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.hooks.WithLabelValues(name, result).Observe(took.Seconds())
}

// Panicked counts a panic that the agent has recovered.
func (m *Metrics) Panicked() { m.panics.Inc() }

// Refused counts a request for CPUs or GPUs that the node refused, by the reason of the refusal.
func (m *Metrics) Refused(reason v1alpha1.Reason) { m.refusals.WithLabelValues(string(reason)).Inc() }

// Saved records how long a write of the checkpoint file took.
func (m *Metrics) Saved(took time.Duration) { m.saves.Observe(took.Seconds()) }

// Wrote records how many cgroups the agent wrote for one reason, and how long these writes took
// together.
func (m *Metrics) Wrote(why node.Why, cgroups int, took time.Duration) {
	m.writes.WithLabelValues(string(why)).Observe(took.Seconds())
	m.cgroups.WithLabelValues(string(why)).Add(float64(cgroups))
}

// Holdings exports the number of exclusive CPUs of each container at each scrape. It does not
// export which CPUs these are; the status of the NodeTopology lists them. If the CPUs were the
// value of a label, each change would start a new time series. The pod's UID is a label, because a
// terminating pod and its replacement can have the same name.
type Holdings struct{ View func() node.View }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe sends no descriptors. The Prometheus client library then checks the metrics of Collect
// at each scrape instead of at the registration.
func (Holdings) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (h Holdings) Collect(ch chan<- prometheus.Metric) {
	v := h.View()
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	held := describe("numalet_container_cpus", "Number of exclusive CPUs of a container.",
		"namespace", "pod", "uid", "container", "kind")
	for _, c := range v.Held {
		gauge(held, c.CPUs.Len(), c.Pod.Namespace, c.Pod.Name, c.Pod.UID, c.Container, c.Kind.String())
	}
	gauge(describe("numalet_shared_cpus", "Number of CPUs shared by the containers without exclusive CPUs."), v.Shared.Len())
	gauge(describe("numalet_exclusive_cpus", "Number of CPUs that are exclusive to containers."), v.Exclusive.Len())
	available := describe("numalet_available_cpus", "Number of CPUs that can still become exclusive, by NUMA node.", "numa")
	for id, n := range v.Available {
		gauge(available, n, strconv.Itoa(int(id)))
	}
}
