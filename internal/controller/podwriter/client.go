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

// eventTimeout ends the creation of an event that is not answered. The API server
// itself gives up after a minute (--request-timeout).
const eventTimeout = 70 * time.Second

// Bindings creates Bindings. It may be used concurrently.
type Bindings struct {
	client  *rest.RESTClient
	timeout time.Duration // 0 for none
}

// NewBindings returns a client of the cluster that config names, with the limit of
// config.QPS (negative for none). The API server, too, is asked to give up after
// config.Timeout.
func NewBindings(config *rest.Config) (*Bindings, error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return once{next} })
	client, err := newClient(config, "/api", corev1.SchemeGroupVersion)
	return &Bindings{client, config.Timeout}, err
}

// once keeps client-go from repeating a Binding after a server error, as Retry-After allows. The request may
// still take effect, and the answer to the next one would hide that from the caller.
type once struct{ next http.RoundTripper }

func (o once) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := o.next.RoundTrip(r)
	if err == nil && answer.StatusCode >= http.StatusInternalServerError {
		answer.Header.Del("Retry-After")
	}
	return answer, err
}

// Create binds a pod. An error that is an APIStatus is the API server's answer. After any other error, and after
// a server error (5xx), the pod may be bound or not, or be bound later.
func (b *Bindings) Create(ctx context.Context, binding *corev1.Binding) error {
	return b.client.Post().Namespace(binding.Namespace).Resource("pods").Name(binding.Name).SubResource("binding").
		Timeout(b.timeout).Body(binding).Do(ctx).Error()
}

// Events creates Events. It may be used concurrently.
type Events struct{ client *rest.RESTClient }

// NewEvents returns a client of the cluster that config names, with the limit of
// config.QPS (negative for none).
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

// newClient returns a REST client for a group and version. Over HTTP/2 a request costs
// about 1.5 times the processor time of one over HTTP/1.1 (docs/benchmarks/logs/performance.md).
func newClient(config *rest.Config, path string, gv schema.GroupVersion) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = path, &gv
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.NextProtos = []string{"http/1.1"}
	config.Timeout = 0 // net/http would start two goroutines for each request, because client-go wraps the transport; see rest.Request.Timeout
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make client of %s at %s: %w", gv, config.Host, err)
	}
	return client, nil
}
