package podwriter

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// BenchmarkBind creates one Binding after another. It compares two clients: client-go's typed
// client, which uses HTTP/2, and the type Bindings, which uses HTTP/1.1. It measures the CPU time
// of the client and the server together:
//
//	go test ./internal/controller/podwriter -run '^$' -bench Bind -count 6 | benchstat -col /by -
func BenchmarkBind(b *testing.B) {
	config := serveTLS(b, func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range []string{"Audit-Id", "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"} {
			w.Header().Set(name, "f5f0b1a7-8a39-4f6a-9a3e-0d1f6f1a2b3c")
		}
		w.Header().Set("Cache-Control", "no-cache, private")
		answer{code: http.StatusCreated, body: &metav1.Status{Status: metav1.StatusSuccess}}.write(w)
	})
	config.ContentType = runtime.ContentTypeProtobuf
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	bindings, err := NewBindings(config)
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
		{"rest", bindings.Create},
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

// serveTLS starts a fake API server with HTTP/2 that gives the same answer to all requests. It
// returns a configuration for clients.
func serveTLS(t testing.TB, answer http.HandlerFunc) *rest.Config {
	server := httptest.NewUnstartedServer(answer)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, BearerToken: "secret", UserAgent: "numalet-controller", QPS: -1, Timeout: 5 * time.Second} // the same settings as in the controller
	config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return config
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
