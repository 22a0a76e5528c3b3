package scrape

import (
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/numalet/numalet/internal/platform/kubeapi"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// qps and burst limit the TokenReviews and SubjectAccessReviews that a server creates at the API
// server. Everybody on the network can send requests with an invalid token, and each of these
// requests costs a TokenReview.
const (
	qps   = 10
	burst = 20
)

// Listen returns a server that listens on addr, the value of the flag --metrics-addr, and serves
// the handler over HTTPS. It serves a request only if the API server of the client configuration
// `api` authenticates and authorizes the request.
func Listen(addr string, handler http.Handler, api *rest.Config, log logr.Logger) (*telemetry.Server, error) {
	handler, err := authorized(handler, api, log)
	if err != nil {
		return nil, err
	}
	// The self-signed certificate makes encryption possible. It does not prove the identity of the
	// server, because a client such as Prometheus cannot verify it. A certificate that an issuer in
	// the cluster has signed would need another component, such as cert-manager, to renew it.
	certificate, _, err := kubeapi.SelfSigned("localhost")
	if err != nil {
		return nil, err
	}
	server, err := telemetry.Listen(addr, handler)
	if err != nil {
		return nil, fmt.Errorf("%w: choose another --metrics-addr", err)
	}
	server.Encrypt(&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	return server, nil
}

// authorized returns a handler that asks the API server to authenticate and authorize each request.
// The handler has a client of its own. If it shared a client with the rest of the program, requests
// with an invalid token could use up the rate limit of the program's other requests.
func authorized(handler http.Handler, api *rest.Config, log logr.Logger) (http.Handler, error) {
	api = rest.CopyConfig(api)
	api.QPS, api.Burst, api.RateLimiter = qps, burst, nil
	client, err := rest.HTTPClientFor(api)
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", api.Host, err)
	}
	filter, err := filters.WithAuthenticationAndAuthorization(api, client)
	if err != nil {
		return nil, fmt.Errorf("authorize requests for metrics: %w", err)
	}
	return filter(log, handler)
}
