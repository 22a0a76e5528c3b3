package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry returns a Prometheus registry with the metrics of the Go runtime, the
// metrics of the process, and numalet_build_info.
func NewRegistry(binary, version string) *prometheus.Registry {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "numalet_build_info",
		Help:        "Always 1. The labels are the name and the version of the program.",
		ConstLabels: prometheus.Labels{"binary": binary, "version": version},
	})
	info.Set(1)
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), info)
	return r
}
