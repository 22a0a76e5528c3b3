package apiwriter

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
	way           way
	host          string                  // as it was configured, for errors
	prefix, query string                  // of the path of every request
	limit         flowcontrol.RateLimiter // of requests
}

// way is how messages go to an API server.
type way interface {
	// send sends messages in their order and returns the answers in the same order: to
	// each of them, or, with an error, to the first ones.
	send(context.Context, []message) ([]*http.Response, error)
}

// New returns a client of the cluster that config names, with its credentials and
// limit. What of a timeout it has is told to the API server, which then leaves
// off; the caller's context ends a request here.
func New(config *rest.Config) (*Client, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("make client of %q: %w", config.Host, err)
	}
	header := http.Header{
		"Content-Type": {runtime.ContentTypeProtobuf},
		"Accept":       {runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON},
	}
	if config.UserAgent != "" {
		header.Set("User-Agent", config.UserAgent)
	}
	c := &Client{host: config.Host, prefix: strings.TrimSuffix(base.Path, "/"), limit: flowcontrol.NewFakeAlwaysRateLimiter()}
	if c.way, err = connect(config, base, header); err != nil {
		return nil, fmt.Errorf("make client of %s: %w", config.Host, err)
	}
	if config.QPS > 0 {
		c.limit = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	if config.Timeout > 0 {
		c.query = "?timeout=" + config.Timeout.String()
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

// Events writes events, on one connection one behind another. The error has one for
// each that was refused, and one for all that were not answered.
func (c *Client) Events(ctx context.Context, events ...*eventsv1.Event) error {
	all := make([]object, len(events))
	for i, e := range events {
		typed := *e
		typed.SetGroupVersionKind(eventsv1.SchemeGroupVersion.WithKind("Event"))
		all[i] = object{
			Object: &typed, resource: eventsv1.Resource("events"), name: e.Name,
			path: "/apis/events.k8s.io/v1/namespaces/" + e.Namespace + "/events",
		}
	}
	return c.create(ctx, all...)
}

// object is what is to be made, and where.
type object struct {
	runtime.Object // with its kind
	resource       schema.GroupResource
	name, path     string
}
