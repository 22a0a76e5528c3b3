package post

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Client posts Bindings and Events in protobuf. It may be used concurrently.
type Client struct {
	transport http.RoundTripper
	base      string // URL of the API server, without a slash at the end
	query     string // of every request
	header    http.Header
	limit     flowcontrol.RateLimiter // of requests
}

// New returns a client of the cluster that config names, with its credentials and
// limit. What of a timeout it has is told to the API server, which then leaves
// off; the caller's context ends a request here.
func New(config *rest.Config) (*Client, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("make client of %q: %w", config.Host, err)
	}
	transport, err := connect(config, base)
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	c := &Client{transport: transport, base: strings.TrimSuffix(base.String(), "/"), limit: flowcontrol.NewFakeAlwaysRateLimiter()}
	if config.QPS > 0 {
		c.limit = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	if config.Timeout > 0 {
		c.query = "?timeout=" + config.Timeout.String()
	}
	c.header = http.Header{
		"Content-Type": {runtime.ContentTypeProtobuf},
		"Accept":       {runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON},
	}
	if config.UserAgent != "" {
		c.header.Set("User-Agent", config.UserAgent)
	}
	return c, nil
}

// Bind binds a pod.
func (c *Client) Bind(ctx context.Context, b *corev1.Binding) error {
	typed := *b
	typed.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Binding"))
	return c.create(ctx, object{
		Object: &typed, resource: corev1.Resource("pods"), name: b.Name,
		path: "/api/v1/namespaces/" + b.Namespace + "/pods/" + b.Name + "/binding",
	})
}

// Event writes an event.
func (c *Client) Event(ctx context.Context, e *eventsv1.Event) error {
	typed := *e
	typed.SetGroupVersionKind(eventsv1.SchemeGroupVersion.WithKind("Event"))
	return c.create(ctx, object{
		Object: &typed, resource: eventsv1.Resource("events"), name: e.Name,
		path: "/apis/events.k8s.io/v1/namespaces/" + e.Namespace + "/events",
	})
}

// object is what is to be made, and where.
type object struct {
	runtime.Object // with its kind
	resource       schema.GroupResource
	name, path     string
}
