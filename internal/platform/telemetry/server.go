package telemetry

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// shutdownTimeout is how long Server.Run waits for requests in progress after its context has
// ended.
const shutdownTimeout = 2 * time.Second

// Check is one condition that must hold for the program to be ready.
type Check struct {
	Name  string
	Ready func() error // nil when ready, else the reason
	// Live, if not nil, returns an error when only a restart of the process can help.
	Live func() error
}

// Server is an HTTP server. A Server that NewServer has made serves /healthz, /readyz and, if it
// has metrics, /metrics. /healthz succeeds unless the function Live of a check returns an error. Such
// an error means that only a restart of the process can help. /readyz succeeds while all checks pass,
// and otherwise answers 503 with the reasons. A Server that Listen has made serves only the given
// handler.
type Server struct {
	listener net.Listener
	http     http.Server
}

// NewServer returns a Server that listens on addr, a host:port. Port 0 selects a free port. If the
// parameter `metrics` is nil, the Server does not serve /metrics.
func NewServer(addr string, metrics prometheus.Gatherer, checks ...Check) (*Server, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthz(checks))
	mux.HandleFunc("GET /readyz", readyz(checks))
	if metrics != nil {
		mux.Handle("GET /metrics", Metrics(metrics))
	}
	s, err := Listen(addr, mux)
	if err != nil {
		return nil, fmt.Errorf("%w: choose another --health-addr", err)
	}
	return s, nil
}

// Metrics returns a handler that serves metrics in Prometheus' format.
func Metrics(all prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{})
}

// Listen returns a Server that listens on addr and serves only the given handler.
func Listen(addr string, handler http.Handler) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for requests: %w", err)
	}
	return &Server{l, http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}}, nil
}

// Encrypt makes the server accept only TLS connections. Call it before Run.
func (s *Server) Encrypt(config *tls.Config) {
	s.listener = tls.NewListener(s.listener, config)
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until ctx ends, and then waits for requests in progress, at most for shutdownTimeout.
// After that time, it closes their connections.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	timeout, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if s.http.Shutdown(timeout) != nil {
		s.http.Close()
	}
	return nil
}

func healthz(checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, c := range checks {
			if c.Live == nil {
				continue
			}
			if err := c.Live(); err != nil {
				http.Error(w, fmt.Sprintf("[-] %s: %v", c.Name, err), http.StatusServiceUnavailable)
				return
			}
		}
		fmt.Fprintln(w, "ok")
	}
}

func readyz(checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		status, lines := http.StatusOK, ""
		for _, c := range checks {
			if err := c.Ready(); err != nil {
				status = http.StatusServiceUnavailable
				lines += fmt.Sprintf("[-] %s: %v\n", c.Name, err)
				continue
			}
			lines += fmt.Sprintf("[+] %s\n", c.Name)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, lines)
	}
}
