package kubelet

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the Prometheus metrics of the Publisher.
type metrics struct {
	devices       *prometheus.GaugeVec
	registrations *prometheus.CounterVec
	drops         *prometheus.CounterVec
	conflict      *prometheus.GaugeVec
	panics        prometheus.Counter
}

func newMetrics(r prometheus.Registerer) metrics {
	m := metrics{
		devices: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "numalet_deviceplugin_devices",
			Help: "Devices that are advertised to the kubelet, by resource and state (healthy or unhealthy). Reserved CPUs count as unhealthy.",
		}, []string{"resource", "state"}),
		registrations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "numalet_deviceplugin_registrations_total",
			Help: "Registrations that the kubelet accepted, by resource.",
		}, []string{"resource"}),
		drops: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "numalet_deviceplugin_dropped_streams_total",
			Help: "ListAndWatch streams that the kubelet closed, by resource. The kubelet closes a stream when it stops, or when another plugin of the resource ends.",
		}, []string{"resource"}),
		conflict: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "numalet_deviceplugin_conflict",
			Help: "1 if the kubelet lists devices of another plugin for the resource, otherwise 0.",
		}, []string{"resource"}),
	}
	m.panics = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "numalet_deviceplugin_panics_total",
		Help: "Panics in the handling of calls from the kubelet. The log has the stack.",
	})
	r.MustRegister(m.devices, m.registrations, m.drops, m.conflict, m.panics)
	return m
}
