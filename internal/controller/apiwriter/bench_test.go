package apiwriter

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// BenchmarkBind is one Binding after another with a typed client, with this one
// over the transports of net/http, and with this one, in processor time of client
// and server together:
//
//	go test ./internal/controller/apiwriter -run '^$' -bench Bind -count 6 | benchstat -col /by -
func BenchmarkBind(b *testing.B) {
	config := serve(b)
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	lean, err := New(config)
	if err != nil {
		b.Fatal(err)
	}
	for _, bc := range []struct {
		by   string
		bind func(context.Context, *corev1.Binding) error
	}{
		{"typed", func(ctx context.Context, o *corev1.Binding) error {
			return typed.CoreV1().Pods(o.Namespace).Bind(ctx, o, metav1.CreateOptions{})
		}},
		{"http2", over(b, *lean, config, "h2").Bind},
		{"http1", over(b, *lean, config, "http/1.1").Bind},
		{"post", lean.Bind},
	} {
		b.Run("by="+bc.by, func(b *testing.B) {
			began := processorTime()
			for b.Loop() {
				if err := bc.bind(b.Context(), binding()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processorTime()-began).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// BenchmarkEvents is one Event, of so many that are written at one go.
func BenchmarkEvents(b *testing.B) {
	c, err := New(serve(b))
	if err != nil {
		b.Fatal(err)
	}
	for _, together := range []int{1, 4, 16} {
		all := make([]*eventsv1.Event, together)
		for i := range all {
			all[i] = &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a.1"}, Note: "bound", Reason: "Scheduled"}
		}
		b.Run(fmt.Sprint("together=", together), func(b *testing.B) {
			began := processorTime()
			for i := 0; i < b.N; i += together {
				if err := c.Events(b.Context(), all...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processorTime()-began).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// over returns the client with a transport of net/http's for a protocol.
func over(b *testing.B, c Client, config *rest.Config, protocol string) *Client {
	config = rest.CopyConfig(config)
	config.NextProtos = []string{protocol}
	by, err := rest.TransportFor(config)
	if err != nil {
		b.Fatal(err)
	}
	ask := c.way.(*pool).head.ask
	c.way = through{by, ask.URL, ask.Header}
	return &c
}

// serve starts an API server that says that all is made, with the head that those
// of Kubernetes write.
func serve(b *testing.B) *rest.Config {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range []string{"Audit-Id", "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"} {
			w.Header().Set(name, "f5f0b1a7-8a39-4f6a-9a3e-0d1f6f1a2b3c")
		}
		w.Header().Set("Cache-Control", "no-cache, private")
		answer{code: http.StatusCreated, said: &metav1.Status{Status: metav1.StatusSuccess}}.write(w)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	b.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, BearerToken: "secret", QPS: -1}
	config.ContentType = runtime.ContentTypeProtobuf
	config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return config
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
