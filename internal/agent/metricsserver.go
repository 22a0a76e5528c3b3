package agent

import (
	"net/http"
	"net/http/httputil"
	"net/url"

	"github.com/go-logr/logr"

	"github.com/numalet/numalet/internal/agent/nodeapi"
	"github.com/numalet/numalet/internal/platform/config"
	"github.com/numalet/numalet/internal/platform/scrape"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// newMetricsServer creates the server at --metrics-addr, which serves metrics to authorized users.
// The parameter `own` serves the agent's metrics. Without --metrics-addr, newMetricsServer returns
// nil.
func newMetricsServer(cfg config.Agent, own http.Handler, log logr.Logger) (*telemetry.Server, error) {
	if cfg.MetricsAddr == "" {
		return nil, nil
	}
	api, err := nodeapi.NewRESTConfig(cfg.Kubeconfig)
	if err != nil {
		return nil, err
	}
	plugin, err := url.Parse(cfg.DevicePlugin)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", own)
	mux.Handle("GET /metrics/deviceplugin", relay(plugin))
	return scrape.Listen(cfg.MetricsAddr, mux, api, log.WithName("metrics"))
}

// relay returns a handler that answers with the metrics of the device plugin. The agent's server
// has authorized the request, so the device plugin needs no token of the API server. If the device
// plugin does not answer, the handler answers 502.
func relay(plugin *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Header.Del("Authorization") // the user's token is not for the device plugin
			r.Out.URL.Path = "/metrics"
			r.SetURL(plugin)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the device plugin does not answer: "+err.Error(), http.StatusBadGateway)
		},
	}
}
