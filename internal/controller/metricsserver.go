package controller

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/pprof"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/numalet/numalet/internal/controller/operators"
	"github.com/numalet/numalet/internal/platform/kubeapi"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// newMetricsServer creates the server of /metrics. The metrics name tenants, so clients of this
// server need a token if the flag --metrics-secure is set. The health probes have a separate
// server, because the kubelet, which sends them, has no token.
func (c *controller) newMetricsServer(context.Context) error {
	registry := telemetry.NewRegistry(component, telemetry.Version())
	c.measured.register(registry)
	registry.MustRegister(collector{c})
	handler, err := c.secured(metricsHandler(prometheus.Gatherers{registry, operators.Metrics()}, c.cfg.Profiling))
	if err != nil {
		return err
	}
	if c.metrics, err = telemetry.Listen(c.cfg.MetricsAddr, handler); err != nil {
		return fmt.Errorf("%w: choose another --metrics-addr", err)
	}
	if !c.cfg.MetricsSecure {
		return nil
	}
	// The self-signed certificate makes encryption possible. It does not prove the identity of the
	// server, because a client such as Prometheus cannot verify it. A certificate that an issuer in
	// the cluster has signed would need another component, such as cert-manager, to renew it.
	certificate, _, err := kubeapi.SelfSigned("localhost")
	if err != nil {
		return err
	}
	c.metrics.Encrypt(&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	return nil
}

// secured adds authentication and authorization to the handler if the flag --metrics-secure is set,
// and otherwise returns the handler as it is.
func (c *controller) secured(handler http.Handler) (http.Handler, error) {
	if !c.cfg.MetricsSecure {
		return handler, nil
	}
	return c.clients.authorize(handler)
}

// authorized returns a function that wraps an HTTP handler. The wrapped handler asks the API server
// to authenticate and authorize each request.
func authorized(config *rest.Config, log logr.Logger) (func(http.Handler) (http.Handler, error), error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	filter, err := filters.WithAuthenticationAndAuthorization(config, client)
	if err != nil {
		return nil, fmt.Errorf("authorize requests for /metrics: %w", err)
	}
	return func(handler http.Handler) (http.Handler, error) { return filter(log, handler) }, nil
}

// metricsHandler returns a handler that serves /metrics. If `profiling` is true, the handler serves
// /debug/pprof as well.
func metricsHandler(all prometheus.Gatherer, profiling bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(all, promhttp.HandlerOpts{}))
	if profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}
