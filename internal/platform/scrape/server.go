package scrape

import (
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/numalet/numalet/internal/platform/kubeapi"
	"github.com/numalet/numalet/internal/platform/telemetry"
)

// Listen returns a server that listens on addr, the value of the flag --metrics-addr, and serves the
// handler over HTTPS. It serves a request only if the API server that the configuration names
// authenticates and authorizes it.
func Listen(addr string, handler http.Handler, api *rest.Config, log logr.Logger) (*telemetry.Server, error) {
	g, err := newGuard(api, log)
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
	server, err := telemetry.Listen(addr, g.wrap(handler))
	if err != nil {
		return nil, fmt.Errorf("%w: choose another --metrics-addr", err)
	}
	server.Encrypt(&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	return server, nil
}
