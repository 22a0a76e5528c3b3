package podwriter

import (
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// eventTimeout is how long a request to create an event may take. It is longer than a minute, the
// default time after which the API server gives up a request (--request-timeout).
const eventTimeout = 70 * time.Second

// Bindings is a client that creates Bindings. Several goroutines may use it at the same time.
type Bindings struct {
	client  *rest.RESTClient
	timeout time.Duration // 0 for no limit
}

// NewBindings returns a client of the cluster that `config` describes. config.QPS is the client's
// rate limit (negative for none). The client and the API server give up a request after
// config.Timeout.
func NewBindings(config *rest.Config) (*Bindings, error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return once{inTime{next}} })
	client, err := newClient(config, "/api", corev1.SchemeGroupVersion)
	return &Bindings{client, config.Timeout}, err
}

// once prevents client-go from sending a Binding again after a server error that has the header
// Retry-After. A server error, for example of a proxy, does not say that the request has failed: it
// may still take effect. If client-go sent a second request, the caller would see only the answer
// to the second request, and would not know of the first.
type once struct{ next http.RoundTripper }

func (o once) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := o.next.RoundTrip(r)
	if err == nil && answer.StatusCode >= http.StatusInternalServerError {
		answer.Header.Del("Retry-After")
	}
	return answer, err
}

// inTime does not send a request whose deadline is over. When a process continues after it was
// stopped (SIGSTOP), net/http can send such a request: it only looks whether the request's context
// is canceled, and the timer that cancels the context may not have run yet.
type inTime struct{ next http.RoundTripper }

func (i inTime) RoundTrip(r *http.Request) (*http.Response, error) {
	if end, ok := r.Context().Deadline(); ok && !time.Now().Before(end) {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper must close it; nothing was read from it
		}
		return nil, context.DeadlineExceeded
	}
	return i.next.RoundTrip(r)
}

// Create binds a pod. If ctx has a deadline, the API server is told to give up the request at the
// deadline. An error that is an APIStatus is an answer of the API server, or of a proxy in front of
// it. After any other error, and after a server error (status 500 or more), it is not known whether
// the pod is bound, and the pod may still be bound later.
func (b *Bindings) Create(ctx context.Context, binding *corev1.Binding) error {
	timeout := b.timeout
	if end, ok := ctx.Deadline(); ok {
		timeout = time.Until(end)
	}
	return b.client.Post().Namespace(binding.Namespace).Resource("pods").Name(binding.Name).SubResource("binding").
		Timeout(timeout).Body(binding).Do(ctx).Error()
}

// Events is a client that creates Kubernetes Events. Several goroutines may use it at the same
// time.
type Events struct{ client *rest.RESTClient }

// NewEvents returns a client of the cluster that `config` describes. config.QPS is the client's
// rate limit (negative for none).
func NewEvents(config *rest.Config) (*Events, error) {
	client, err := newClient(config, "/apis", eventsv1.SchemeGroupVersion)
	return &Events{client}, err
}

// Create creates an event.
func (e *Events) Create(ctx context.Context, event *eventsv1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	return e.client.Post().Namespace(event.Namespace).Resource("events").Body(event).Do(ctx).Error()
}

// newClient returns a REST client for an API group and version. It uses HTTP/1.1, because a request
// over HTTP/2 takes about 1.5 times the CPU time (docs/benchmarks/logs/performance.md).
func newClient(config *rest.Config, path string, gv schema.GroupVersion) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = path, &gv
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.NextProtos = []string{"http/1.1"}
	// The timeout is given to rest.Request.Timeout and not to the client. client-go wraps the
	// client's transport. If the client had a timeout, net/http would not trust such a foreign
	// transport to end requests in time, and would start two goroutines for each request.
	config.Timeout = 0
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make client of %s at %s: %w", gv, config.Host, err)
	}
	return client, nil
}
