package controller

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/pipeline"
	"github.com/numalet/numalet/pkg/sched/queue"
)

const prefix = "numalet_scheduler_"

// metrics are histograms of durations.
type metrics struct {
	wait  prometheus.Histogram
	binds *prometheus.HistogramVec
}

func newMetrics() *metrics {
	return &metrics{
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "e2e_duration_seconds", Help: "How long a pod was pending until it was bound.",
			Buckets: prometheus.ExponentialBuckets(.001, 2, 20),
		}),
		binds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "bind_duration_seconds", Help: "How long the API server took to answer a Binding.",
			Buckets: prometheus.ExponentialBuckets(.0005, 1.6, 20),
		}, []string{"result"}),
	}
}

func (m *metrics) register(r prometheus.Registerer) { r.MustRegister(m.wait, m.binds) }

func (m *metrics) binding(took time.Duration, err error) {
	result := "bound"
	if err != nil {
		result = "error"
	}
	m.binds.WithLabelValues(result).Observe(took.Seconds())
}

// collector collects the counters of the scheduler and the lengths of its queues.
type collector struct{ *controller }

// Describe describes nothing, which makes the collector unchecked: its metrics are few
// and constant.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the current values.
func (s collector) Collect(to chan<- prometheus.Metric) {
	counters := s.pipeline.Counters()
	for _, m := range counted() {
		to <- counter(m.name, m.help, m.value(counters))
	}
	for i, n := range counters.Index {
		to <- counter("candidate_index_total", "Position of a pod's node in its list; the last counts all further ones.", n, "index", strconv.Itoa(i))
	}
	depth := s.queue.Depth()
	for _, in := range queue.States() {
		to <- gauge("pending_pods", "Pods that are not bound yet, by the queue that they are in.", depth[in], "queue", in.String())
	}
	to <- gauge("lists", "Lists that wait for the committer.", s.pipeline.Depth())
	to <- gauge("nodes", "Nodes that the scheduler knows.", s.state.View().Len())
	leads := 0
	if s.lease == nil || s.lease.Leads() {
		leads = 1
	}
	to <- gauge("leader", "1 where this process holds the lease.", leads)
	s.ledger.Each(func(tenant string, a fairshare.Account) { collectAccount(to, tenant, a) })
}

// collectAccount collects the usage and the score of a tenant's account.
func collectAccount(to chan<- prometheus.Metric, tenant string, a fairshare.Account) {
	for _, m := range []struct {
		name, help string
		value      float64
	}{
		{"numalet_tenant_usage", "Cores or cards that a tenant holds.", float64(a.Usage) / 1000},
		{"numalet_tenant_score", "What a tenant used, in cores or cards, recent use more than old: the more, the later its turn.", a.Score},
	} {
		desc := prometheus.NewDesc(m.name, m.help, []string{"tenant", "type"}, nil)
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, m.value, tenant, string(a.Type))
	}
}

// countedMetric is a counter of the committer.
type countedMetric struct {
	name, help string
	value      func(pipeline.Counters) uint64
}

func counted() []countedMetric {
	return []countedMetric{
		{"commits_total", "Pods that got a node.", func(c pipeline.Counters) uint64 { return c.Commits }},
		{"version_hits_total", "Listed nodes that had not changed when the list was committed.", func(c pipeline.Counters) uint64 { return c.Hits }},
		{"rechecks_passed_total", "Changed nodes that still fitted.", func(c pipeline.Counters) uint64 { return c.Passed }},
		{"rechecks_failed_total", "Changed nodes that did not fit any more, or were removed.", func(c pipeline.Counters) uint64 { return c.Failed }},
		{"requeues_total", "Attempts whose listed nodes were all taken by other pods.", func(c pipeline.Counters) uint64 { return c.Requeues }},
		{"unschedulable_total", "Attempts for which no node fitted the pod.", func(c pipeline.Counters) uint64 { return c.Unschedulable }},
		{"already_placed_total", "Lists of pods that were placed already.", func(c pipeline.Counters) uint64 { return c.AlreadyPlaced }},
		{"undone_total", "Decisions that were undone because the Binding failed.", func(c pipeline.Counters) uint64 { return c.Undone }},
		{"retracted_total", "Gang pods whose node was given back because too few pods of the gang fitted; they are in commits_total, too.", func(c pipeline.Counters) uint64 { return c.Retracted }},
	}
}

func counter(name, help string, n uint64, labels ...string) prometheus.Metric {
	return constant(prometheus.CounterValue, name, help, float64(n), labels)
}

func gauge(name, help string, n int, labels ...string) prometheus.Metric {
	return constant(prometheus.GaugeValue, name, help, float64(n), labels)
}

// constant returns a metric with one label, given by name and value, or with none.
func constant(kind prometheus.ValueType, name, help string, n float64, label []string) prometheus.Metric {
	var names, values []string
	if len(label) == 2 {
		names, values = label[:1], label[1:]
	}
	return prometheus.MustNewConstMetric(prometheus.NewDesc(prefix+name, help, names, nil), kind, n, values...)
}
