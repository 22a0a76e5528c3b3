package controller

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/numalet/numalet/internal/controller/operators"
	"github.com/numalet/numalet/internal/platform/scrape"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// newMetricsServer creates the server of /metrics. The metrics name tenants, so clients of this
// server need a token if the flag --metrics-secure is set. The health probes have a separate
// server, because the kubelet, which sends them, has no token.
func (c *controller) newMetricsServer(context.Context) (err error) {
	registry := telemetry.NewRegistry(component, telemetry.Version())
	c.measured.register(registry)
	registry.MustRegister(collector{c})
	handler := metricsHandler(prometheus.Gatherers{registry, operators.Metrics()}, c.cfg.Profiling)
	if c.cfg.MetricsSecure {
		c.metrics, err = scrape.Listen(c.cfg.MetricsAddr, handler, c.clients.api, c.log.WithName("metrics"))
		return err
	}
	if c.metrics, err = telemetry.Listen(c.cfg.MetricsAddr, handler); err != nil {
		return fmt.Errorf("%w: choose another --metrics-addr", err)
	}
	return nil
}

// metricsHandler returns a handler that serves /metrics. If `profiling` is true, the handler serves
// /debug/pprof as well.
func metricsHandler(all prometheus.Gatherer, profiling bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", telemetry.Metrics(all))
	if profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}
