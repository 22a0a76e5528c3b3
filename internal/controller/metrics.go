package controller

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/numalet/numalet/pkg/sched/fairshare"
	"github.com/numalet/numalet/pkg/sched/pipeline"
	"github.com/numalet/numalet/pkg/sched/queue"
)

const prefix = "numalet_scheduler_"

// metrics has histograms of durations, and a counter of panics. The other metrics of the controller
// are read from the parts that count them (see the type `collector`).
type metrics struct {
	wait   prometheus.Histogram
	binds  *prometheus.HistogramVec
	panics prometheus.Counter
}

func newMetrics() *metrics {
	return &metrics{
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "e2e_duration_seconds", Help: "Time from the creation of a pod until it is bound.",
			Buckets: prometheus.ExponentialBuckets(.001, 2, 31), // up to 12 days, because pods may wait long for a quota, or for the node that the controller has reserved for them
		}),
		binds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "bind_duration_seconds", Help: "Latency of Binding requests to the API server, by result (bound or error).",
			Buckets: prometheus.ExponentialBuckets(.0005, 1.6, 20),
		}, []string{"result"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "handler_panics_total", Help: "Panics in the handling of an object of the API server, such as a pod or a node. The log names the object.",
		}),
	}
}

func (m *metrics) register(r prometheus.Registerer) { r.MustRegister(m.wait, m.binds, m.panics) }

// collector collects the counters of the scheduling pipeline, the lengths of its queues, the number
// of nodes, whether this process leads, and the accounts of the tenants.
type collector struct{ *controller }

// Describe sends no descriptions. So when the collector is registered, the Prometheus registry does
// not check whether another collector has metrics of the same names.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends all metrics of the collector with their current values.
func (s collector) Collect(to chan<- prometheus.Metric) {
	counters := s.pipeline.Counters()
	for _, m := range counted() {
		to <- counter(m.name, m.help, m.value(counters))
	}
	for i, n := range counters.Index {
		to <- counter("candidate_index_total", "Scheduled pods, by the position (from 0) of their node in the list of candidate nodes. The last value of the label also counts all greater positions.", n, "index", strconv.Itoa(i))
	}
	depth := s.queue.Depth()
	for _, in := range queue.States() {
		to <- gauge("pending_pods", "Pods that are not bound yet, by queue.", depth[in], "queue", in.String())
	}
	to <- gauge("pending_candidate_lists", "Lists of candidate nodes (one list per pod or gang) that wait for the committer, which assigns pods to nodes.", s.pipeline.Depth())
	to <- gauge("nodes", "Nodes that the scheduler has in its cache.", s.state.View().Len())
	leads := 0
	if s.lease == nil || s.lease.Leads() {
		leads = 1
	}
	to <- gauge("leader", "1 if this process holds the lease or leader election is off, otherwise 0.", leads)
	s.ledger.Each(func(tenant string, account fairshare.Account) { collectAccount(to, tenant, account) })
}

// collectAccount sends two metrics about a tenant's account. An account is a tenant's use of one
// type of resource, such as CPUs: what the tenant holds now (the usage), and the decayed average of
// this (the score).
func collectAccount(to chan<- prometheus.Metric, tenant string, account fairshare.Account) {
	for _, m := range []struct {
		name, help string
		value      float64
	}{
		{"numalet_tenant_usage", "Number of cores or GPUs that a tenant holds.", float64(account.Usage) / 1000},
		{"numalet_tenant_score", "Decayed average of a tenant's usage, in cores or GPUs. Tenants with a lower score per weight come first in the queue.", account.Score},
	} {
		desc := prometheus.NewDesc(m.name, m.help, []string{"tenant", "type"}, nil)
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, m.value, tenant, string(account.Type))
	}
}

// countedMetric is a metric whose value is a counter of the scheduling pipeline. The field `value` is
// the function that reads the counter.
type countedMetric struct {
	name, help string
	value      func(pipeline.Counters) uint64
}

func counted() []countedMetric {
	return []countedMetric{
		{"commits_total", "Pods that were assigned to a node.", func(counters pipeline.Counters) uint64 { return counters.Commits }},
		{"version_hits_total", "Candidate nodes that did not change between the creation of their list and the time when the committer read the list. Lists for gangs are not counted.", func(counters pipeline.Counters) uint64 { return counters.Hits }},
		{"rechecks_passed_total", "Candidate nodes that were checked again, usually because they had changed, and still fit the pod.", func(counters pipeline.Counters) uint64 { return counters.Passed }},
		{"rechecks_failed_total", "Candidate nodes that were checked again and no longer fit the pod, or that no longer existed.", func(counters pipeline.Counters) uint64 { return counters.Failed }},
		{"requeues_total", "Scheduling attempts after which the pod was queued again, because no candidate node fit the pod any more, or because not all pods of its gang were assigned to nodes.", func(counters pipeline.Counters) uint64 { return counters.Requeues }},
		{"unschedulable_total", "Scheduling attempts in which no node fit the pod, or in which the pod had to wait for something else, such as a quota.", func(counters pipeline.Counters) uint64 { return counters.Unschedulable }},
		{"already_placed_total", "Lists of candidate nodes that were not used, because their pod was already assigned to a node.", func(counters pipeline.Counters) uint64 { return counters.AlreadyPlaced }},
		{"undone_total", "Assignments that were undone because the Binding failed.", func(counters pipeline.Counters) uint64 { return counters.Undone }},
		{"retracted_total", "Assignments of gang pods that were undone because too few pods of the gang fit. commits_total includes them.", func(counters pipeline.Counters) uint64 { return counters.Retracted }},
	}
}

func counter(name, help string, n uint64, labels ...string) prometheus.Metric {
	return constant(prometheus.CounterValue, name, help, float64(n), labels)
}

func gauge(name, help string, n int, labels ...string) prometheus.Metric {
	return constant(prometheus.GaugeValue, name, help, float64(n), labels)
}

// constant returns a metric with the fixed value n. The slice `label` is empty, or has two elements:
// the name and the value of the metric's only label.
func constant(kind prometheus.ValueType, name, help string, n float64, label []string) prometheus.Metric {
	var names, values []string
	if len(label) == 2 {
		names, values = label[:1], label[1:]
	}
	return prometheus.MustNewConstMetric(prometheus.NewDesc(prefix+name, help, names, nil), kind, n, values...)
}
