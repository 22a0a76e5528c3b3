package controller

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/numalet/numalet/internal/platform/config"
)

// freezer is a listener whose connections can be made to hang.
type freezer struct {
	net.Listener
	mu     sync.Mutex
	conns  []*frozenConn
	thawed chan struct{} // closed at the end of the test
}

func (f *freezer) Accept() (net.Conn, error) {
	conn, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	frozen := &frozenConn{Conn: conn, frozen: make(chan struct{}), thawed: f.thawed}
	f.conns = append(f.conns, frozen)
	return frozen, nil
}

// freeze makes the present connections hang: the server receives nothing from them any more.
func (f *freezer) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range f.conns {
		close(conn.frozen)
	}
	f.conns = nil
}

type frozenConn struct {
	net.Conn
	frozen, thawed chan struct{}
}

func (c *frozenConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	select {
	case <-c.frozen:
		<-c.thawed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

// TestConditionsWithoutConnection writes a condition, and then makes the connection hang. It checks
// that another condition can still be written.
func TestConditionsWithoutConnection(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Pod","apiVersion":"v1"}`))
	}))
	connections := &freezer{Listener: server.Listener, thawed: make(chan struct{})}
	server.Listener, server.EnableHTTP2 = connections, true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(connections.thawed) })
	c, err := connectScheduler(&rest.Config{Host: server.URL, Burst: 100, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, config.Controller{RequestRate: 100})
	if err != nil {
		t.Fatal(err)
	}
	write := func(timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		_, err := c.report.CoreV1().Pods("default").Patch(ctx, "a", types.MergePatchType, []byte("{}"), metav1.PatchOptions{}, "status")
		return err
	}
	if err := write(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	connections.freeze()
	if err := write(50 * time.Millisecond); err == nil {
		t.Fatal("a condition is written over a connection that hangs")
	}
	if err := write(20 * time.Second); err != nil {
		t.Errorf("the next condition: %v", err)
	}
}

// TestReportsEnd checks that the request for an event ends after the timeout if the API server does
// not answer. Events are written one after another, so otherwise all later events would wait.
func TestReportsEnd(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	c, err := connectScheduler(&rest.Config{Host: server.URL, Burst: 100}, config.Controller{RequestRate: 100, BindTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.report.EventsV1().Events("default").Create(t.Context(), &eventsv1.Event{}, metav1.CreateOptions{})
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the event counts as created, although the API server did not answer")
		}
	case <-time.After(10 * time.Second):
		t.Error("the request for an event has not ended after 10 s")
	}
}
